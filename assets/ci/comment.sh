#!/usr/bin/env bash
# Writes a report as the one comment of this gate on a pull request: creates it, and updates
# it on the next push. It is found again by its first line, a mark that is not shown.
# Needs curl and jq, which runners of GitHub have. What goes wrong here is a warning: the
# verdict of the job and the step summary do not depend on the comment.
#
# From the action: PULL (number of the pull request, empty on a push), COMMIT, REPORT (a file
# of Markdown), MARK, TOKEN. From the runner: GITHUB_API_URL, GITHUB_REPOSITORY.
set -euo pipefail

if [ -z "$PULL" ] || [ -z "$MARK" ]; then
  exit 0
fi

warn() {
  echo "::warning title=Systole::No comment on pull request $PULL: $*"
  exit 0
}

[ -s "$REPORT" ] || warn "there is no report $REPORT."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
answer=$folder/answer.json
body=$folder/body.json

# api METHOD PATH [curl options]: the answer goes to $answer. The token is not an argument,
# so that no list of processes shows it.
api() {
  local method=$1 path=$2 status
  shift 2
  status=$(printf 'Authorization: Bearer %s\n' "$TOKEN" | curl --silent --show-error \
    --max-time 60 --output "$answer" --write-out '%{http_code}' --request "$method" \
    --header @- --header 'Accept: application/vnd.github+json' "$@" \
    "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/$path") || warn "GitHub cannot be reached."
  case $status in
    2??) ;;
    401 | 403 | 404)
      warn "the token of this job may not write it (HTTP $status). Give the job the permission" \
        "'pull-requests: write'. In pull requests from forks tokens can only read." \
        "The verdict is in the step summary."
      ;;
    *) warn "GitHub answered with HTTP $status. The verdict is in the step summary." ;;
  esac
}

mark="<!-- systole: $MARK -->"
run="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"
id=
page=1
while [ -z "$id" ]; do
  api GET "issues/$PULL/comments?per_page=100&page=$page"
  count=$(jq length "$answer") || warn "what GitHub answered is no list."
  id=$(jq -r --arg mark "$mark" \
    'map(select(.body // "" | startswith($mark))) | first | .id // ""' "$answer")
  if [ "$count" -lt 100 ]; then
    break
  fi
  page=$((page + 1))
done

jq -n --arg mark "$mark" --rawfile report "$REPORT" --arg commit "$COMMIT" --arg run "$run" \
  '{body: "\($mark)\n\($report)\nCommit \($commit), reports of [this run](\($run))\n"}' >"$body"
if [ -n "$id" ]; then
  api PATCH "issues/comments/$id" --data-binary "@$body"
else
  api POST "issues/$PULL/comments" --data-binary "@$body"
fi
