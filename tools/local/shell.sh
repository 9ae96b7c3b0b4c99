# For a shell in which you try the local stack that `make run` started. Run in the folder of the checkout:
#
#     . tools/local/shell.sh
#
# It sets the variables below for the demo's first workspace, and defines `stack` and `console`.
# STACK_FILE names another stack's file (`local run --state-dir`).

# Prints a value of stack.json: `stack "s['landingUrl']"`; w is the first workspace, `stack "w['teamId']"`.
stack() {
  python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
w = s["workspaces"][0]
print(eval(sys.argv[2]))' "${STACK_FILE:-.local/stack.json}" "$1"
}

# The operator's console, for this local stack only.
console() { eval "$(stack "s['console']")"' "$@"'; }

if [ -r "${STACK_FILE:-.local/stack.json}" ]; then
  W=$(stack "w['workspaceId']")                                  # the workspace's id
  API=$(stack "s['baseUrl']")/service/api/v1/workspaces/$W       # its Integrations API
  KEY=$(stack "w['apiKey']")                                     # an API key with all scopes
  CONTACT=$(stack "w['contacts'][0]['id']")                      # a contact
  AGENT=$(stack "w['users'][0]['email']")                        # an internal user
  CAPTURE_URL=$(stack "s['captureUrl']")                         # the lead capture API
  RECEIVED=$(stack "s['receiverLedgerUrl']")/ledger              # the webhooks that the simulated customer received
  SENT=$(stack "s['providerUrl']")/ledger                        # the messages that the simulated provider was asked to send
else
  echo "No local stack runs here: start it with make run." >&2
  false
fi
