// The running stack, which the environment names, and the check of a response. Both TypeScript clients use them.
declare const process: { env: Record<string, string | undefined> };

interface Stack {
  baseUrl: string;
  captureUrl: string;
  apiKey: string;
  workspaceId: string;
  userId: string;
  email: string;
  cellphone: string;
  refusedCellphone: string;
  origin: string;
}

export const stack = JSON.parse(process.env["CLIENT_STACK"] ?? "{}") as Stack;

/** The SHA-256 digest of `hello`. */
export const digestOfHello = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";

/** Uploads `hello`. */
export async function putHello(url: string, contentType: string): Promise<void> {
  const headers = { "Content-Type": contentType, "x-amz-checksum-sha256": digestOfHello };
  const answer = await fetch(url, { method: "PUT", headers, body: "hello" });
  if (!answer.ok) throw new Error(`the upload is ${answer.status}`);
}

/** The body of a response that has this status. */
export function printed<T>(operation: string, answer: { data?: T; error?: unknown; response: Response }, status: number): T {
  if (answer.response.status !== status) {
    throw new Error(`${operation}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
  }
  console.log(operation);
  return answer.data as T;
}
