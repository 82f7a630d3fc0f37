// Drives the window in Chromium: node window.cjs FOLDER SCREENSHOTS. A canvas has no elements to ask, so tests read what
// the window publishes (`systole.state()`), and write pictures for people to look at.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { chromiumOptions, hostPlanes, largeProfile, logs, packed, Server, slicesOf } = require("./server.cjs");

const [folder, pictures] = process.argv.slice(2);
const samples = path.join(__dirname, "../../assets/samples");
const overlap = "synthetic_v5e_8chip_overlap.trace.json.gz";
const recompile = "synthetic_v5e_8chip_recompile.xplane.pb";
const types = { html: "text/html", js: "text/javascript", wasm: "application/wasm", css: "text/css", png: "image/png" };

// Files of the window, samples, and addresses that misbehave.
function served(request, response) {
  const name = decodeURIComponent(new URL(request.url, "http://x").pathname.slice(1)) || "index.html";
  if (name === "slow.xplane.pb") {
    response.writeHead(200, { "content-length": 50_000_000 });
    const more = setInterval(() => response.write(Buffer.alloc(10_000)), 50);
    response.on("close", () => clearInterval(more));
    return;
  }
  if (name === "run.zip") return response.end(packed());
  if (name === "damaged.trace.json.gz") return response.end(fs.readFileSync(path.join(samples, overlap)).fill(255, 20));
  if (name === "huge.xplane.pb") {
    response.writeHead(200, { "content-length": 1_200_000_000 });
    return response.write("x");
  }
  const file = [folder, samples].map((root) => path.join(root, path.basename(name))).find((one) => fs.existsSync(one));
  if (!file) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[file.split(".").pop()] ?? "application/octet-stream" });
  fs.createReadStream(file).pipe(response);
}

const tests = {
  async "the start screen is there"(page) {
    await page.goto(origin);
    await settled(page, (state) => state.traces.length === 0);
    await shot(page, "start");
    // The window follows the system, as the page around it does.
    const brightness = async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(1000);
      const picture = (await page.screenshot({ clip: { x: 4, y: 300, width: 8, height: 8 } })).toString("base64");
      return page.evaluate(async (picture) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const canvas = new OffscreenCanvas(8, 8).getContext("2d");
        canvas.drawImage(image, 0, 0);
        return canvas.getImageData(0, 0, 1, 1).data[0];
      }, picture);
    };
    assert.ok(await brightness("dark") < 80 && await brightness("light") > 180);
  },

  async "a trace is opened by its address, zoomed, selected and linked to"(page) {
    await page.goto(`${origin}?trace=${recompile}`);
    const opened = await settled(page, (state) => state.slices[0] > 0 && state.verdict);
    assert.equal(opened.error, null);
    assert.deepEqual(opened.traces, [recompile]);
    await shot(page, "opened");
    await page.mouse.move(500, 400);
    await page.keyboard.press("w");
    await page.keyboard.press("w");
    const width = (state) => state.range_ps[1] - state.range_ps[0];
    const zoomed = await settled(page, (state) => width(state) < width(opened));
    // A click on each row until one hits a slice.
    let selected = zoomed;
    for (let y = 140; y < 700 && !selected.selection; y += 11) {
      await page.mouse.click(600, y);
      await page.waitForTimeout(60);
      selected = await page.evaluate(() => systole.state());
    }
    assert.ok(selected.selection, "a slice is selected");
    await settled(page, () => true);
    await shot(page, "selected");
    await page.waitForFunction(() => /sel=\d+/.test(location.hash), null, { timeout: 5000 });
    const before = await settled(page, () => true);
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    const restored = await settled(page, (state) => state.selection === before.selection);
    const close = (a, b) => Math.abs(a - b) < 0.01 * width(before);
    assert.ok(close(restored.range_ps[0], before.range_ps[0]) && close(restored.range_ps[1], before.range_ps[1]), "same time");
    assert.equal(restored.tab, before.tab);
    // The same link, written into the address of a page that shows another place.
    await page.mouse.move(500, 400);
    await page.keyboard.press("0");
    await settled(page, (state) => width(state) > 1.2 * width(before));
    await page.waitForFunction((link) => location.href !== link, link, { timeout: 5000 });
    await page.evaluate((link) => { location.href = link; }, link);
    await settled(page, (state) => state.range_ps && close(state.range_ps[0], before.range_ps[0]) && close(state.range_ps[1], before.range_ps[1]));
  },

  async "a link names tab and scope"(page) {
    await page.goto(`${origin}?trace=${recompile}#tab=hints&scope=steps:2..3`);
    await settled(page, (state) => state.tab === "hints");
    await page.waitForFunction(() => location.hash.includes("scope=steps:2..3"), null, { timeout: 5000 });
    await shot(page, "hints");
  },

  async "a hint leads to its evidence"(page) {
    await page.goto(`${origin}?trace=${recompile}#tab=hints`);
    const before = await settled(page, (state) => state.tab === "hints");
    const size = page.viewportSize();
    // Evidence is a link in the column of hints: the first thing there that moves the view.
    let after = before;
    const moved = () => after.selection !== before.selection || after.tab !== before.tab || after.range_ps[0] !== before.range_ps[0];
    for (let y = 150; y < size.height - 60 && !moved(); y += 14) {
      for (const x of [size.width - 420, size.width - 300]) {
        await page.mouse.click(x, y);
        await page.waitForTimeout(70);
        after = await page.evaluate(() => systole.state());
        if (moved()) break;
      }
    }
    assert.ok(moved(), "a click on a hint shows its evidence");
    await settled(page, () => true);
    await shot(page, "evidence");
  },

  async "two traces are compared"(page) {
    await page.goto(`${origin}?trace=${recompile}&compare=${overlap}`);
    const state = await settled(page, (state) => state.slices.length === 2);
    assert.deepEqual(state.traces, [recompile, overlap]);
    await shot(page, "compared");
  },

  async "a dropped file is opened"(page) {
    await page.goto(origin);
    await settled(page, () => true);
    await drop(page, overlap, fs.readFileSync(path.join(samples, overlap)));
    const state = await settled(page, (state) => state.slices[0] > 0);
    assert.deepEqual(state.traces, [overlap]);
    assert.ok(!page.url().includes("trace="), "a file of this machine has no address");
  },

  async "a damaged, a missing and a too large file are errors in the window"(page) {
    for (const [file, why] of [["damaged.trace.json.gz", /gzip|deflate|damaged/], ["none.xplane.pb", /404/], ["huge.xplane.pb", /at most 1000 MB/]]) {
      await page.goto(`${origin}?trace=${file}`);
      const state = await settled(page, (state) => state.error);
      assert.match(state.error, why);
      assert.equal(state.slices.length, 0);
    }
    await shot(page, "error");
  },

  async "opening is cancelled"(page) {
    await page.goto(`${origin}?trace=slow.xplane.pb`);
    await until(page, (state) => state.loading && state.loading[1] === 50_000_000);
    await shot(page, "loading");
    // The button beside the bar.
    await page.mouse.click(835, 237);
    const state = await settled(page, (state) => !state.loading);
    assert.equal(state.error, null);
    // To load the page again does not open again what was cancelled.
    assert.equal(await page.evaluate(() => location.search + location.hash), "");
  },

  async "settings stay"(page) {
    await page.goto(`${origin}?trace=${recompile}`);
    await settled(page, (state) => state.slices[0] > 0);
    await page.reload();
    await page.goto(origin);
    await settled(page, (state) => state.traces.length === 0);
    const recent = await page.evaluate(() => JSON.parse(localStorage.getItem("/systole/gui.json")).recent);
    assert.deepEqual(recent, [recompile]);
  },

  async "a server's runs are listed, found and opened"(page) {
    await page.goto(server.address);
    const state = await settled(page, (state) => state.runs.length === 4);
    assert.deepEqual([...state.runs].sort(), ["damaged", "hosts", "one", "two"]);
    await shot(page, "runs");
    // A click on each row until one opens.
    let opened = state;
    for (let y = 100; y < 420 && !opened.loading && opened.traces.length === 0; y += 9) {
      await page.mouse.click(410, y);
      await page.waitForTimeout(60);
      opened = await page.evaluate(() => systole.state());
    }
    await settled(page, (state) => state.traces.length === 1 || state.error);
    await find(page, "Control+o", "hosts");
    const hosts = await settled(page, (state) => state.traces[0] === "hosts" && state.slices[0] > 0);
    assert.equal(hosts.slices[0], slicesOf("synthetic_two_hosts"), "both hosts are there");
    await page.goto(`${server.address}?run=${await server.id("one")}`);
    await settled(page, (state) => state.traces[0] === "one");
    assert.equal(await page.evaluate(() => localStorage.getItem("/systole/gui.json")?.includes("run/") ?? false), false, "the server lists its runs");
  },

  async "Back leads from a run to the list of runs"(page) {
    await page.goto(server.address);
    await settled(page, (state) => state.runs.length === 4);
    await find(page, "Control+o", "one");
    await settled(page, (state) => state.traces[0] === "one");
    await page.waitForFunction(() => location.search.includes("run="), null, { timeout: 5000 });
    await page.goBack();
    await settled(page, (state) => state.traces.length === 0 && state.runs.length === 4);
    assert.equal(new URL(page.url()).search, "");
    await page.goForward();
    await settled(page, (state) => state.traces[0] === "one");
  },

  async "two runs of a server are compared, and a link shows the same"(page) {
    await page.goto(`${server.address}?run=${await server.id("one")}#tab=hints&scope=steps:2..3`);
    await settled(page, (state) => state.tab === "hints" && state.slices[0] > 0);
    await page.keyboard.press("F1");
    await page.waitForTimeout(300);
    await page.keyboard.type("Compare with another");
    await find(page, "Enter", "two", "compare-dialog");
    const both = await settled(page, (state) => state.slices.length === 2);
    assert.deepEqual(both.traces, ["one", "two"]);
    const [one, two] = [await server.id("one"), await server.id("two")];
    await page.waitForFunction((ids) => location.search === `?run=${ids[0]}&compare=${ids[1]}`, [one, two], { timeout: 5000 });
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    const again = await settled(page, (state) => state.slices.length === 2);
    assert.deepEqual(again.traces, both.traces);
    assert.deepEqual(again.range_ps, both.range_ps);
    await shot(page, "compared-runs");
  },

  async "a damaged run and a run that is gone are errors in the window"(page) {
    await page.goto(`${server.address}?run=${await server.id("damaged")}`);
    assert.match((await settled(page, (state) => state.error)).error, /this is no profile|unknown|format/i);
    await shot(page, "damaged-run");
    await page.goto(`${server.address}?run=0000000000000000`);
    assert.match((await settled(page, (state) => state.error)).error, /no run with this id/);
  },

  async "a server that is killed is waited for"(page) {
    const own = await Server.start(root);
    const message = page.locator("#away");
    try {
      await page.goto(`${own.address}?run=${await own.id("one")}`);
      await settled(page, (state) => state.slices[0] > 0 && state.runs.length === 4);
      await own.stop();
      await message.filter({ hasText: "does not answer" }).waitFor({ timeout: 20_000 });
      await find(page, "Control+o", "two");
      await page.waitForTimeout(1500);
      const waiting = await page.evaluate(() => systole.state());
      assert.ok(waiting.loading && !waiting.error, "it waits");
      await shot(page, "away");
      const again = await Server.start(root, own.port);
      own.child = again.child;
      await settled(page, (state) => state.traces[0] === "two" && state.slices[0] > 0);
      await message.waitFor({ state: "hidden", timeout: 20_000 });
    } finally {
      await own.stop();
    }
  },

  async "a wrong token is a page that says so"(page) {
    const own = await Server.start(root, 0, ["--token", "0123456789abcdefXYZ"]);
    try {
      const answer = await page.goto(`http://127.0.0.1:${own.port}/?token=0123456789abcdefabc`);
      assert.equal(answer.status(), 401);
      assert.match(await page.textContent("body"), /open the address that systole serve printed/);
      await page.goto(own.address);
      await settled(page, (state) => state.runs.length === 4);
      assert.ok(!page.url().includes("token"), "the address that is shared has no token");
    } finally {
      await own.stop();
    }
  },

  async "a run that the server reads has its arguments later"(page) {
    await page.addInitScript(() => { globalThis.systoleRule = { small: 0 }; });
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${server.address}?run=${await server.id("one")}`);
    await settled(page, (state) => state.slices[0] > 0);
    assert.ok(asked.some((url) => url.includes("/model")), "the server has read it");
    let state;
    for (let y = 140; y < 700 && !state?.arguments; y += 11) {
      await page.mouse.click(600, y);
      await page.waitForTimeout(60);
      state = await settled(page, () => true);
    }
    assert.ok(state.arguments > 0, "a slice with arguments is found");
  },

  async "loading and analyses let frames be drawn"(page) {
    await page.goto(origin);
    await settled(page, () => true);
    await page.evaluate((count) => {
      const pause = systolePage.pause;
      globalThis.pauses = 0;
      systolePage.pause = () => (globalThis.pauses += 1, pause());
      const events = Array.from({ length: count }, (_, n) => `{"ph":"X","pid":1,"tid":${n % 4},"ts":${n},"dur":1,"name":"f${n % 9}"}`);
      const transfer = new DataTransfer();
      transfer.items.add(new File([`{"traceEvents":[${events}]}`], "long.trace.json"));
      document.getElementById("window").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }, 300_000);
    const state = await settled(page, (state) => state.slices[0] > 0 || state.error);
    assert.equal(state.slices[0], 300_000);
    assert.ok(await page.evaluate(() => globalThis.pauses) > 0, "work was interrupted");
  },

  async "a packed run comes with its view and its notes"(page) {
    await page.goto(`${origin}?trace=${recompile}`);
    await settled(page, (state) => state.slices[0] > 0);
    // A marked time is the scope of the reports.
    await page.mouse.move(450, 300);
    await page.mouse.down();
    await page.mouse.move(550, 320, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.press("p");
    await page.keyboard.press("Shift+M");
    const saved = await settled(page, (state) => state.mark_ps && state.notes.length === 1 && state.pinned === 1);
    const scope = await scopeOf(page);
    await page.keyboard.press("Control+s");
    const key = `/systole/sessions/${recompile}.json`;
    await page.waitForFunction((key) => localStorage.getItem(key), key, { timeout: 5000 });
    const session = JSON.parse(await page.evaluate((key) => localStorage.getItem(key), key));
    session.view.notes[0].text = "look here";
    const archive = packed(JSON.stringify(session));
    const isRestored = (state) => state.slices[0] > 0 && state.notes.length > 0;
    const check = async (state) => {
      assert.deepEqual([state.notes, state.pinned, state.mark_ps], [["look here"], 1, saved.mark_ps]);
      assert.equal(await scopeOf(page), scope);
    };
    await page.goto("about:blank");
    await page.goto(origin);
    await settled(page, () => true);
    await drop(page, "run.systole.zip", archive);
    await check(await settled(page, isRestored));
    await shot(page, "packed");
    // The same from a server.
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "systole-web-"));
    const file = path.join(folder, "run.systole.zip");
    fs.writeFileSync(file, archive);
    const own = await Server.start(file);
    try {
      await page.goto(`${own.address}?run=${await own.id("run.systole.zip")}`);
      await check(await settled(page, isRestored));
    } finally {
      await own.stop();
      fs.rmSync(folder, { recursive: true });
    }
  },

  async "over a slow link, files of hosts come as they are, and those of devices as a trace"(page) {
    await page.addInitScript(() => { globalThis.systoleRule = { small: 0, fastBytesPerMs: 1e18 }; });
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "systole-web-"));
    const whole = fs.readFileSync(path.join(samples, recompile));
    for (const [run, bytes] of [["devices", whole], ["host", hostPlanes(whole)]]) {
      fs.mkdirSync(path.join(folder, "plugins/profile", run), { recursive: true });
      fs.writeFileSync(path.join(folder, "plugins/profile", run, "h.xplane.pb"), bytes);
    }
    const own = await Server.start(folder);
    try {
      const asked = [];
      page.on("request", (request) => asked.push(request.url()));
      for (const run of ["devices", "host"]) {
        asked.length = 0;
        await page.goto(`${own.address}?run=${await own.id(run)}`);
        await settled(page, (state) => state.traces[0] === run && state.slices[0] > 0);
        assert.equal(asked.some((url) => url.includes("/model?packed=true")), run === "devices", `${run}: the trace`);
        assert.ok(asked.some((url) => url.includes("/files/0?packed=true")), `${run}: the files`);
      }
    } finally {
      await own.stop();
      fs.rmSync(folder, { recursive: true });
    }
  },

  async "a part of a large file is shown before the rest"(page) {
    const profile = largeProfile();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "systole-web-"));
    fs.mkdirSync(path.join(folder, "plugins/profile/large"), { recursive: true });
    fs.writeFileSync(path.join(folder, "plugins/profile/large/h.xplane.pb"), profile);
    const own = await Server.start(folder);
    try {
      // Of a run, by the server, which also reads all of it.
      await page.addInitScript(() => { globalThis.systoleRule = { fastBytesPerMs: 0, largeAtOnce: 0 }; });
      let send;
      const isSeen = new Promise((resolve) => { send = resolve; });
      await page.route(/\/model\?packed/, (route) => isSeen.then(() => route.continue()));
      await page.goto(`${own.address}?run=${await own.id("large")}`);
      await page.waitForFunction(() => globalThis.systole?.state().is_first_look, null, { timeout: 30_000 });
      const early = await page.evaluate(() => systole.state());
      assert.deepEqual([early.slices, early.error], [[3], null]);
      await shot(page, "first_look");
      send();
      const whole = await settled(page, (state) => state.slices[0] > 3);
      assert.deepEqual([whole.slices, whole.is_first_look], [[2603], false]);
      // Of a file of this machine, by the page.
      await page.goto("about:blank");
      await page.goto(origin);
      await settled(page, () => true);
      await drop(page, "large.xplane.pb", profile);
      const dropped = await settled(page, (state) => state.slices[0] > 3);
      assert.equal(dropped.slices[0], 2603);
      assert.equal(await page.evaluate(() => performance.getEntriesByName("systole-first").length), 1);
    } finally {
      await own.stop();
      fs.rmSync(folder, { recursive: true });
    }
  },

  async "files that do not come are the trouble of their trace, and end with it"(page) {
    await page.addInitScript(() => { globalThis.systoleRule = { small: 0 }; });
    const [one, hosts] = [await server.id("one"), await server.id("hosts")];
    // The first request for the bytes of a run asks how fast the link is, the next follows the trace.
    let asked = 0;
    let answer = (route) => route.fulfill({ status: 404 });
    await page.route(`**/${hosts}/files/0*`, (route) => (asked++ === 0 ? route.continue() : answer(route)));
    await page.goto(`${server.address}?run=${one}&compare=${hosts}`);
    await settled(page, (state) => state.slices.length === 2);
    let state;
    for (let y = 120; y < 400 && !state?.arguments; y += 11) {
      await page.mouse.click(300, y);
      await page.waitForTimeout(60);
      state = await settled(page, () => true);
    }
    assert.ok(asked > 1 && state.arguments > 0, "those of the other are there");
    const ended = new Promise((resolve) => page.on("requestfailed", (request) => request.url().includes(hosts) && resolve()));
    [asked, answer] = [0, () => {}];
    await page.goto("about:blank");
    await page.goto(`${server.address}?run=${hosts}`);
    await settled(page, (state) => state.traces[0] === "hosts" && state.slices[0] > 0);
    assert.equal(asked, 2, "its bytes are asked for");
    await find(page, "Control+o", "two");
    await settled(page, (state) => state.traces[0] === "two" && state.slices[0] > 0);
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("they are still asked for")), 10_000).unref());
    await Promise.race([ended, late]);
  },

  async "a zipped run is opened"(page) {
    await page.goto(`${origin}?trace=run.zip`);
    const state = await settled(page, (state) => state.slices[0] > 0);
    assert.equal(state.error, null);
  },

  async "a panic is a message"(page) {
    await page.goto(origin);
    await settled(page, () => true);
    await page.evaluate(() => systolePage.stopped("example"));
    assert.match(await page.textContent("#message"), /mistake in Systole/);
    await shot(page, "stopped");
  },
};

let origin;
let root;
let server;

// The scope of the reports, once the address follows it.
async function scopeOf(page) {
  const scope = () => new URLSearchParams(location.hash.slice(1)).get("scope");
  return (await page.waitForFunction(scope, null, { timeout: 5000 })).jsonValue();
}

async function drop(page, name, bytes) {
  const transfer = await page.evaluateHandle(([text, name]) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    return transfer;
  }, [bytes.toString("base64"), name]);
  await page.dispatchEvent("#window", "drop", { dataTransfer: transfer });
}

// Opens a run by its name, in the dialog that a key opens.
async function find(page, key, name, picture) {
  await page.keyboard.press(key);
  await page.waitForTimeout(300);
  await page.keyboard.type(name);
  await page.waitForTimeout(200);
  if (picture) await shot(page, picture);
  await page.keyboard.press("Enter");
}

async function until(page, wanted, patience = 60_000) {
  const end = Date.now() + patience;
  let state;
  for (;;) {
    state = await page.evaluate(() => globalThis.systole?.state()).catch(() => undefined);
    if (state && "settled" in state && wanted(state)) return state;
    if (Date.now() > end) throw new Error(`not reached: ${JSON.stringify(state)}; ${await page.textContent("#message")}`);
    await page.waitForTimeout(30);
  }
}

const settled = (page, wanted) => until(page, (state) => state.settled && wanted(state));

async function shot(page, name) {
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

async function main() {
  const files = http.createServer(served).listen(0, "127.0.0.1");
  await new Promise((resolve) => files.once("listening", resolve));
  origin = `http://127.0.0.1:${files.address().port}/`;
  root = logs();
  server = await Server.start(root);
  const browser = await chromium.launch(chromiumOptions);
  let failed = 0;
  const only = process.env.ONLY;
  for (const [name, test] of Object.entries(tests)) {
    if (only && !name.includes(only)) continue;
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const outside = [];
    const said = [];
    await context.route("**/*", (route) => {
      const { hostname, protocol } = new URL(route.request().url());
      if (hostname === "127.0.0.1" || ["data:", "blob:", "about:"].includes(protocol)) return route.continue();
      outside.push(route.request().url());
      return route.abort();
    });
    const page = await context.newPage();
    page.on("pageerror", (error) => said.push(String(error)));
    page.on("console", (line) => { if (line.type() === "error") said.push(line.text()); });
    const began = Date.now();
    try {
      await test(page);
      assert.deepEqual(outside, [], "nothing is asked of other machines");
      const wrong = said.filter((text) => !/40[134]|422|Failed to load resource/.test(text));
      assert.deepEqual(wrong, [], "nothing is reported as wrong");
      console.log(`ok    ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${name}: ${error.stack}\n${said.join("\n")}`);
      await page.screenshot({ path: path.join(pictures, "failed.png") }).catch(() => {});
    }
    await context.close();
  }
  await browser.close();
  files.closeAllConnections();
  files.close();
  await server.stop();
  fs.rmSync(root, { recursive: true });
  console.log(failed ? `${failed} failed` : "all passed");
  process.exitCode = failed ? 1 : 0;
}

main();
