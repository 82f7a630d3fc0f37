// Measures the window in Chromium: node measure.cjs LOGDIR [RUN...]. Prints a line of JSON for each run, link and way to read
// it: milliseconds from the key that opens it until a part of it is on the screen, until the trace came from the server, until all
// of it is on the screen and until all reports are there; the longest that the page could not answer, and when; and memory. Then what a frame takes while the view
// moves. FRAMES=0 leaves frames out; MODES and LINKS name some of the ways.
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const { chromium } = require("playwright-core");
const { Server, chromiumOptions } = require("./server.cjs");

const [root, ...names] = process.argv.slice(2);
// How a run is read: as the page chooses, or in one of its ways whatever the link (see reading.js).
const modes = {
  auto: {},
  "files": { small: 1e18 },
  "packed files": { lookAfterBytes: 1, fastBytesPerMs: 1e18, slowSends: "files" },
  "trace": { lookAfterBytes: 1, fastBytesPerMs: 0 },
  "packed trace": { lookAfterBytes: 1, fastBytesPerMs: 1e18, slowSends: "trace" },
};
// Megabits per second.
const links = { loopback: null, "50 Mbit/s": 50 };
const chosen = (all, wish) => Object.entries(all).filter(([name]) => !wish || wish.split(",").includes(name));
const round = (number) => Math.round(10 * number) / 10;
const quantiles = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  return [0.5, 0.9, 0.99, 1].map((share) => round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]));
};

// The processes of Chromium of a type.
function processes(type) {
  const lines = execFileSync("ps", ["-eo", "pid,args"]).toString().split("\n");
  return lines.filter((line) => line.includes(`--type=${type}`)).map((line) => line.trim().split(" ")[0]);
}

const read = (pid, file) => {
  try { return fs.readFileSync(`/proc/${pid}/${file}`, "utf8"); } catch { return ""; }
};

// The largest memory that a page has had, in megabytes.
const peak = () => Math.max(...processes("renderer").map((pid) => Number(read(pid, "status").match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024));

// Processor time of all processes of a type, in milliseconds.
const spent = (type) => processes(type).map((pid) => {
  const fields = read(pid, "stat").split(") ")[1]?.split(" ") ?? [];
  return 10 * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
}).reduce((a, b) => a + b, 0);

async function opened(page, name) {
  await page.keyboard.press("Control+o");
  await page.waitForTimeout(500);
  await page.keyboard.type(name);
  await page.waitForTimeout(300);
  // Listening before the key is sent: keys and scripts reach the page on different ways.
  await page.evaluate(() => {
    globalThis.blocked = [];
    globalThis.shown = new Promise((resolve) => addEventListener("keydown", () => {
      let first;
      const began = performance.now();
      const noted = (entry) => blocked.push([Math.round(entry.startTime - began), Math.round(entry.duration)]);
      new PerformanceObserver((list) => list.getEntries().forEach(noted)).observe({ type: "longtask" });
      const looking = setInterval(() => {
        const { error, slices, is_first_look } = systole.state();
        const shown = Math.round(performance.now() - began);
        if (slices[0] > 0) first ??= shown;
        if (!error && (is_first_look || !(slices[0] > 0))) return;
        clearInterval(looking);
        const came = performance.getEntriesByName("systole-trace")[0];
        resolve({
          error, slices: slices[0], first_ms: first, came_ms: came && Math.round(came.startTime - began), shown_ms: shown,
        });
      }, 5);
    }, { once: true, capture: true }));
  });
  await page.keyboard.press("Enter");
  const result = await page.evaluate(() => globalThis.shown);
  const began = Date.now();
  await page.waitForFunction(() => systole.state().settled, null, { polling: 50, timeout: 600_000 });
  const memory = await page.evaluate(() => systole.memory());
  const reports_ms = result.shown_ms + Date.now() - began;
  // When and for how long, the longest first.
  const blocked = (await page.evaluate(() => globalThis.blocked)).sort((a, b) => b[1] - a[1]).slice(0, 5);
  return { ...result, reports_ms, blocked_ms: blocked[0]?.[1] ?? 0, blocked, wasm_mb: round(memory / 1e6), page_mb: round(peak()) };
}

// Frames while the view is zoomed and moved by keys: time between two, time in this program, processor time of the page and
// of the process that draws (without a GPU, in software).
async function frames(page, seconds) {
  await page.mouse.move(600, 350);
  const before = [spent("renderer"), spent("gpu-process")];
  const watched = page.evaluate((seconds) => new Promise((resolve) => {
    const [between, own] = [[], []];
    const began = performance.now();
    let last = began;
    const step = (now) => {
      between.push(now - last);
      own.push(1e3 * systole.state().frame_s);
      last = now;
      if (now - began < 1e3 * seconds) requestAnimationFrame(step);
      else resolve({ between: between.slice(1), own: own.slice(1) });
    };
    requestAnimationFrame(step);
  }), seconds);
  const end = Date.now() + 1e3 * seconds;
  for (let at = 0; Date.now() < end; at += 1) {
    await page.keyboard.down("wdsa"[at % 4]);
    await page.waitForTimeout(400);
    await page.keyboard.up("wdsa"[at % 4]);
  }
  const { between, own } = await watched;
  const [renderer, drawing] = [spent("renderer") - before[0], spent("gpu-process") - before[1]];
  return {
    frames: between.length, between_ms: quantiles(between), own_ms: quantiles(own),
    page_cpu_ms: round(renderer / between.length), drawing_cpu_ms: round(drawing / between.length),
  };
}

async function main() {
  const server = await Server.start(root);
  const browser = await chromium.launch(chromiumOptions);
  const { runs } = await (await fetch(new URL("/api/v1/runs", server.address))).json();
  for (const name of names.length > 0 ? names : runs.map((run) => run.name)) {
    for (const [link, megabits] of chosen(links, process.env.LINKS)) {
      for (const [mode, rule] of chosen(modes, process.env.MODES)) {
        const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
        const page = await context.newPage();
        await page.addInitScript((rule) => { globalThis.systoleRule = rule; }, rule);
        await page.goto(server.address);
        await page.waitForFunction(() => globalThis.systole?.state().runs?.length > 0, null, { polling: 20 });
        const [painted, started] = await page.evaluate(() => ["first-paint", "systole-started"].map((mark) => performance.getEntriesByName(mark)[0]?.startTime));
        if (megabits) {
          const throughput = megabits * 1e6 / 8;
          const session = await context.newCDPSession(page);
          await session.send("Network.emulateNetworkConditions", { offline: false, latency: 20, downloadThroughput: throughput, uploadThroughput: throughput });
        }
        const first = { first_paint_ms: Math.round(painted), started_ms: Math.round(started) };
        console.log(JSON.stringify({ run: name, link, mode, ...first, ...await opened(page, name) }));
        if (mode === "auto" && !megabits && process.env.FRAMES !== "0") console.log(JSON.stringify({ run: name, ...await frames(page, 8) }));
        await context.close();
      }
    }
  }
  await browser.close();
  await server.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
