# Sets up a shell for the local stack that `make run` started. In the folder of the checkout:
#
#     . tools/local/shell.sh
#
# It sets the variables below for the demo's first workspace, and defines `stack`, `console`, `received` and `sent`.
# If STACK_FILE is set, it names the stack's file; otherwise that is .local/stack.json.

# Prints a value of the stack's file: `stack "s['landingUrl']"`. `w` is the first workspace: `stack "w['teamId']"`.
stack() {
  python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
w = s["workspaces"][0]
print(eval(sys.argv[2]))' "${STACK_FILE:-.local/stack.json}" "$1"
}

# The operator's console, always for this local stack.
console() { eval "$(stack "s['console']")"' "$@"'; }

# Prints the webhooks that the simulated receiver got, oldest first: the signed headers and the body.
received() {
  curl -s "$(stack "s['receiverLedgerUrl']")/ledger" | python3 -c 'import base64, json, sys
for request in json.load(sys.stdin):
    print(request["method"], request["path"])
    for name, value in request["headers"].items():
        if name.startswith(("webhook-", "x-service-")):
            print(name + ": " + value)
    print("", base64.b64decode(request["body"]).decode(), "", sep="\n")'
}

# Prints the messages that the simulated WhatsApp got, oldest first, one message per line.
sent() {
  curl -s "$(stack "s['providerUrl']")/ledger" | python3 -c 'import json, sys
for request in json.load(sys.stdin):
    if request["path"].endswith("/messages"):
        print(json.dumps(request["body"], ensure_ascii=False))'
}

if [ -r "${STACK_FILE:-.local/stack.json}" ]; then
  W=$(stack "w['workspaceId']")                               # the workspace's id
  API=$(stack "s['baseUrl']")/service/api/v1/workspaces/$W    # its Integrations API
  KEY=$(stack "w['apiKey']")                                  # an API key with all scopes
  CONTACT=$(stack "next(c['id'] for c in w['contacts'] if c['firstName'] == 'Amélie')")
  AGENT=$(stack "w['users'][0]['email']")                     # an internal user
  CAPTURE_URL=$(stack "s['captureUrl']")                      # the lead capture API
else
  echo "No local stack runs here. Start it with: make run" >&2
  false
fi
