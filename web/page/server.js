// The server of Systole behind this page, if there is one. While it does not answer, the page says so and waits for it.

const away = document.getElementById("away");
const beat = 5000;
const retry = 1000;
let version = null;
let isAway = false;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isOwn = (url) => new URL(url, document.baseURI).origin === location.origin;

// Whether the server answers: its facts, or null.
async function health() {
  try {
    const answer = await fetch("api/v1/health", { cache: "no-store" });
    const isJson = (answer.headers.get("content-type") ?? "").includes("json");
    return isJson ? { ok: answer.ok, ...(await answer.json()) } : null;
  } catch {
    return null;
  }
}

function say(text) {
  away.textContent = text;
  away.hidden = !text;
}

// What is known of the server after a look at it.
function noted(facts) {
  isAway = !facts;
  if (isAway) {
    say("The server does not answer. Is systole serve still running? What is open stays usable; " +
      "everything else goes on when the server is back.");
  } else if (facts.ok && facts.version !== version) {
    say("The server has another version than this page. Load the page again.");
  } else if (!facts.ok) {
    say(facts.error?.message ?? "The server refuses this page. Load it again.");
  } else {
    say("");
  }
}

// Looks whether a server of Systole is there, and from then on every few seconds whether it still is.
export async function look() {
  const facts = await health();
  version = facts?.version ?? (facts ? "" : null);
  if (version === null) return false;
  const seen = async () => document.visibilityState === "visible" && noted(await health());
  document.addEventListener("visibilitychange", seen);
  (async () => {
    for (;;) {
      await pause(isAway ? retry : beat);
      await seen();
    }
  })();
  return true;
}

export const isThere = () => version !== null;

// Ends when the server answers again. `goesOn` says whether anybody still waits.
export async function back(goesOn) {
  do {
    if (!goesOn()) throw new Error("cancelled");
    noted(await health());
    if (isAway) await pause(retry);
  } while (isAway);
}

// The answer to a request. A server of Systole that is away is waited for.
export async function asked(url, { goesOn = () => true, ...options } = {}) {
  const waits = isThere() && isOwn(url);
  for (;;) {
    let response;
    try {
      response = await fetch(url, { credentials: "same-origin", ...options });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (waits) {
        await back(goesOn);
        continue;
      }
      let hint = "";
      if (!isOwn(url)) {
        hint = isThere()
          ? "; pages of `systole serve` read the runs of their own server only: download the file and drop it here"
          : "; the server must be reachable and allow other pages to read it (CORS)";
      }
      throw new Error(`cannot be fetched: ${error.message}${hint}: ${url}`);
    }
    if (response.ok) return response;
    // What a proxy says in its place.
    if (waits && [502, 504].includes(response.status)) {
      await pause(retry);
      await back(goesOn);
      continue;
    }
    const problem = await response.json().catch(() => null);
    throw new Error(problem?.error?.message ?? `the server answered ${response.status} ${response.statusText}: ${url}`);
  }
}

const run = (id) => `api/v1/runs/${encodeURIComponent(id)}`;

// What runs say of themselves, by id and time: the server reads a run for it, so only the newest are asked for, as by
// `systole runs`, one after the other.
const summarised = 10;
const summaries = new Map();
let isSummarising = false;
const keyOf = (one) => `${one.id} ${one.modified_s}`;

async function summarise(list) {
  if (isSummarising) return;
  isSummarising = true;
  for (const one of list.slice(0, summarised).filter((one) => !summaries.has(keyOf(one)))) {
    const summary = asked(`${run(one.id)}/summary`).then(async (answer) => ({ summary: await answer.json() }));
    summaries.set(keyOf(one), await summary.catch((error) => ({ error: error.message })));
  }
  isSummarising = false;
}

// The runs as JSON, or null if no server of Systole is there.
export async function runs() {
  if (!isThere()) return null;
  if (isAway) throw new Error("The server does not answer.");
  const page = await (await asked("api/v1/runs?limit=1000")).json();
  summarise(page.runs);
  page.runs = page.runs.map((one) => ({ ...one, ...summaries.get(keyOf(one)) }));
  return JSON.stringify(page);
}

// The path by which the window knows a run: with its name, which is shown.
export async function pathOf(id) {
  const named = await asked(run(id)).then((answer) => answer.json()).catch(() => null);
  return `run/${id}/${named?.run?.name ?? "run"}`;
}

// The files that are read of a run, and how many of their bytes are events of devices and of others, if that is known.
export async function filesOf(id, goesOn) {
  const facts = await (await asked(run(id), { goesOn })).json();
  const read = facts.files.filter((one) => one.is_read);
  if (read.length === 0) throw new Error("the server has no files of this run");
  const file = (one) => ({ name: one.name, host: one.host, size: one.bytes ?? 0, url: `${run(id)}/files/${one.n}`, isServed: true });
  return { files: read.map(file), events: facts.events };
}

// The answer with what is shown first of a run; empty if nothing is.
export const firstOf = (id, isPacked, options) => asked(`${run(id)}/model?first=true&packed=${isPacked}`, options);

// The answer with a run as the server has read it.
export const modelOf = (id, isPacked, options) => asked(`${run(id)}/model?packed=${isPacked}`, options);
