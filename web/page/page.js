// What the page does for the window: files, addresses, messages. `systolePage` is called from
// `app/window/src/platform/browser/page.rs`.
import { keep, read } from "./reading.js";
import * as server from "./server.js";
import init, { memory_bytes, run_task, start, state } from "./systole.js";

const shell = document.getElementById("shell");
const message = document.getElementById("message");
const query = new URLSearchParams(location.search);
const named = (query) => new URLSearchParams(["run", "trace", "compare"].flatMap((name) => query.has(name) ? [[name, query.get(name)]] : [])).toString();
// The traces that the address names.
let shown = named(query);
// The place behind `#` that the page has shown, so that one that a user writes is told from it.
let place = location.hash.slice(1);
addEventListener("popstate", () => {
  const isOther = named(new URLSearchParams(location.search)) !== shown;
  if (isOther || location.hash.slice(1) !== place) location.reload();
});
let module;

// Until the window is there, the page has its colours: those that the user chose, or those of the system.
try {
  const { theme } = JSON.parse(localStorage.getItem("/systole/gui.json")) ?? {};
  if (["dark", "light"].includes(theme)) document.documentElement.style.colorScheme = theme;
} catch { /* nothing is stored */ }

// Tasks of the window are interrupted for its frames where the browser can do that. Elsewhere each is run as a whole.
const canPause = "Suspending" in WebAssembly && "promising" in WebAssembly;
if (!canPause) Object.assign(WebAssembly, { Suspending: function (call) { return call; }, promising: (call) => async (...args) => call(...args) });
const turn = new MessageChannel();
const pause = () => new Promise((resolve) => {
  turn.port1.onmessage = resolve;
  turn.port2.postMessage(null);
});
let isWorking = false;

// Runs tasks until none waits.
async function work() {
  if (isWorking) return;
  isWorking = true;
  do await pause();
  while (await run_task(canPause));
  isWorking = false;
}

function fail(text) {
  shell.hidden = false;
  shell.classList.add("failed");
  message.textContent = text;
  if (!shell.querySelector("button")) {
    const again = document.createElement("button");
    again.textContent = "Start again";
    again.onclick = () => location.reload();
    shell.append(again);
  }
}

globalThis.systolePage = {
  work,
  pause,
  keep,
  read: (path, step, first) => read(path, module, step, first),
  runs: server.runs,
  keepBytes: (name, bytes) => keep(new File([bytes], name)),
  pick: () => new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.onchange = () => resolve(input.files[0] ? keep(input.files[0]) : null);
    input.oncancel = () => resolve(null);
    input.click();
  }),
  save: (name, bytes) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  },
  showAddress: (paths, at) => {
    const parts = new URLSearchParams();
    const isRun = (path) => path.startsWith("run/");
    const [first, second] = paths;
    if (first && !first.startsWith("local/")) {
      parts.set(isRun(first) ? "run" : "trace", isRun(first) ? first.split("/")[1] : first);
      // Both by ids, or both by addresses.
      const fits = second && !second.startsWith("local/") && isRun(first) === isRun(second);
      if (fits) parts.set("compare", isRun(second) ? second.split("/")[1] : second);
    }
    const text = parts.toString();
    const address = `${location.pathname}${text && `?${text}`}${at && `#${at}`}`;
    // Back leads from a trace to what was open before, such as the list of runs; it does not repeat every move.
    if (text === shown) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    [shown, place] = [text, location.hash.slice(1)];
  },
  started: () => {
    shell.hidden = true;
    performance.mark("systole-started");
  },
  stopped: (why) => fail(`The window stopped, which is a mistake in Systole. Files are unchanged.\n\n${why}`),
};

// The paths of what the address names: `run` is an id, `compare` an id if `run` is there, else an address.
function wanted() {
  if (query.has("run")) {
    const ids = [query.get("run"), query.get("compare")].filter((id) => id);
    return Promise.all(ids.map(server.pathOf));
  }
  return ["trace", "compare"].map((name) => query.get(name)).filter((path) => path);
}

const there = server.look();
try {
  module = await WebAssembly.compileStreaming(fetch(new URL("./systole_bg.wasm", import.meta.url)));
  await init({ module_or_path: module });
  // What tests and scripts read.
  globalThis.systole = { state: () => JSON.parse(state() || "{}"), memory: () => memory_bytes() };
  await there;
  const canvas = document.getElementById("window");
  // The window smooths edges itself. The browser would do so again, which takes twice the time without a GPU.
  canvas.getContext("webgl2", { antialias: false, depth: false, stencil: false });
  await start(canvas, await wanted(), location.hash.slice(1));
} catch (error) {
  fail(`The window cannot start: ${error?.message ?? error}\n\nIt needs WebAssembly and WebGL.`);
}
