import { resolve } from 'node:path';
import { build } from 'esbuild';
import { faultsOf, type Page, type PageOptions, type TestBrowser } from './browser.ts';

// A program that shows MCP Apps: a page whose host is that of the extension's SDK, with a view in a sandbox of another origin.

const HOST = 'https://host.test/';
const SANDBOX = 'https://sandbox.test/view';

/** The policy that the specification prescribes for a view that names no domains. */
const POLICY = `default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';
  img-src 'self' data:; media-src 'self' data:; font-src 'self'; connect-src 'none'; frame-src 'none'; object-src 'none';
  base-uri 'self'`.replace(/\s+/g, ' ');

/** Keeps what uPlot draws, as window.plots. */
const KEEP_PLOTS = `window.plots = []; let kept;
  Object.defineProperty(window, 'uPlot', { configurable: true, get: () => kept, set(library) {
    kept = new Proxy(library, { construct(target, args) {
      const plot = Reflect.construct(target, args);
      window.plots.push(plot);
      return plot;
    } });
  } });`;

export interface HostContext {
  theme?: 'light' | 'dark';
  containerDimensions?: object;
  styles?: object;
}

export type View = Awaited<ReturnType<typeof openView>>;

/** Opens a view as such a program does. @param html as `resources/read` returns it. */
export async function openView(
  browser: TestBrowser,
  html: string,
  hostContext: HostContext,
  options: PageOptions = {},
) {
  const page = await browser.page(options);
  await page.addInitScript(KEEP_PLOTS);
  const answers: Record<string, { body: string; headers?: Record<string, string> }> = {
    [HOST]: {
      body: `<!doctype html><title>Host</title><script type="module">${await hostScript()}</script>`,
    },
    [SANDBOX]: { body: html, headers: { 'content-security-policy': POLICY } },
  };
  await page.route('**', (route) => {
    const answer = answers[route.request().url()];
    return answer ? route.fulfill({ ...answer, contentType: 'text/html' }) : route.abort();
  });
  await page.goto(HOST);
  await page.waitForFunction('window.openView');
  await page.evaluate(`openView(${JSON.stringify(SANDBOX)}, ${JSON.stringify(hostContext)})`);
  return viewIn(page);
}

function viewIn(page: Page) {
  const frame = page.frame('view');
  if (!frame) throw new Error('the host has no view');
  const tell = (method: string, params: object) =>
    page.evaluate(`bridge.${method}(${JSON.stringify(params)})`);
  return {
    page,
    frame,
    main: frame.locator('#main'),
    /** Sends the result of a tool. */
    async show(result: object) {
      await tell('sendToolInput', { arguments: {} });
      await tell('sendToolResult', result);
    },
    change: (hostContext: HostContext) => page.evaluate(`changeContext(${JSON.stringify(hostContext)})`),
    tell,
    /** The heights that the view has reported. */
    heights: () => page.evaluate('sizes') as Promise<number[]>,
    /** How many numbers the drawn chart has in each series, those that are hidden included. */
    async drawnNumbers() {
      await frame.locator('.time-chart[data-drawn-ms]').waitFor();
      return (await frame.evaluate(
        `plots.at(-1).data.slice(1).map((column) => column.filter((value) => typeof value === 'number').length)`,
      )) as number[];
    },
    /** Whether the chart has a line of this color, such as #0f766e. */
    hasColor: (color: string) =>
      frame.evaluate(`(${HAS_COLOR})(${JSON.stringify(color)})`) as Promise<boolean>,
    /** Errors, and requests to other addresses than these two. */
    faults() {
      const { errors, requests } = faultsOf(page);
      return { errors, requests: requests.filter((url) => url !== HOST && url !== SANDBOX) };
    },
    close: () => page.context().close(),
  };
}

const HAS_COLOR = `(color) => {
  const wanted = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  const canvas = document.querySelector('.time-chart canvas');
  // Reading the canvas itself again and again warns that it is slow.
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200 && wanted.every((value, part) => Math.abs(data[i + part] - value) < 4)) return true;
  return false;
}`;

let script: Promise<string> | null = null;

/** The script of the page, bundled once. */
function hostScript(): Promise<string> {
  script ??= build({
    entryPoints: [resolve('test/support/app-host-page.mjs')],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'error',
  }).then(({ outputFiles: [file] }) => (file?.text ?? '').replaceAll('</script', '<\\/script'));
  return script;
}
