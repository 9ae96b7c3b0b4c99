// Tables as files for spreadsheet programs.

/** The beginnings of what a spreadsheet program takes for a formula. It can divide a line at semicolons and tabs too. */
const FORMULA = /(^|[;\t\r\n])([=+\-@\t\r])/g;
/** A phone number and a plain number are no formulas. */
const HARMLESS = /^[+-]?\d+(\.\d+)?$/;

function cell(text: string): string {
  const guarded = HARMLESS.test(text) ? text : text.replace(FORMULA, "$1'$2");
  return /[",;\r\n\t]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** The lines of a CSV file (RFC 4180), with a byte-order mark, without which Excel takes the text for another encoding. */
export function csv(header: string[], rows: (string | null)[][]): string {
  const lines = [header, ...rows].map((row) => row.map((text) => cell(text ?? '')).join(','));
  return `\ufeff${lines.join('\r\n')}\r\n`;
}

/** Gives the browser a file to save. */
export function save(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  link.download = name;
  link.click();
  // Some browsers read the file only after this function returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
