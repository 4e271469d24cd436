import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CHART_PATHS } from '../../charts/files.ts';
import { PRODUCT_SERIES, productFormat } from '../../charts/product-series.ts';
import { word, wordHistory } from '../../operations/brand-analytics/word.ts';
import { product } from '../../operations/market/product.ts';
import { SITES } from '../../operations/params/domain.ts';
import { NAMED_SERIES } from '../../operations/products/history.ts';
import { interestOverTime } from '../../operations/trends/interest-over-time.ts';
import { packageVersion, projectFile } from '../../platform/project.ts';
import type { ListedResource, ResourceContents } from './protocol.ts';
import type { ListedTool } from './tool.ts';

// The chart of a result, for programs that support MCP Apps (https://github.com/modelcontextprotocol/ext-apps): a page that such a
// program loads in a sandbox, and to which it sends the result. Other programs ignore it.

/** The extension of the protocol, by the name under which servers and clients declare it. */
export const APPS_EXTENSION = 'io.modelcontextprotocol/ui';

const URI = 'ui://souk/chart.html';

/** Tools whose results may have histories: of a product, of a search term, of search interest. */
const CHARTED: ReadonlySet<string> = new Set(
  [product, word, wordHistory, interestOverTime].map(({ tool }) => tool),
);

/** The page needs no address and no permission. */
const NEEDS = { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true };

const DESCRIBED = { uri: URI, mimeType: 'text/html;profile=mcp-app', _meta: { ui: NEEDS } };

export const CHART_RESOURCE: ListedResource = {
  ...DESCRIBED,
  name: 'Chart',
  description: 'A page for programs that show results as charts',
};

/** Returns the tool with the page that draws its results, if it has one. */
export function withChart(tool: ListedTool): ListedTool {
  return CHARTED.has(tool.name) ? { ...tool, _meta: { ui: { resourceUri: URI } } } : tool;
}

/** Returns the page; null if it has another address. */
export function readChart(uri: string): ResourceContents[] | null {
  return uri === URI ? [{ ...DESCRIBED, text: PAGE }] : null;
}

const PAGE = pageOf();

/** The page has everything in it, because its sandbox has no network. */
function pageOf(): string {
  const [script, styles] = ['view.js', 'view.css'].map((name) =>
    textOf(fileURLToPath(projectFile(`src/api/mcp/chart/${name}`))),
  );
  const config = JSON.stringify(configOf()).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chart</title>
<style>
${textOf(CHART_PATHS.libraryStyles)}
${textOf(CHART_PATHS.styles)}
${styles}
</style>
</head>
<body>
<main id="main"><p role="status">The chart appears when the tool has answered.</p></main>
<script id="config" type="application/json">${config}</script>
<script>${textOf(CHART_PATHS.library)}</script>
<script type="module">${textOf(CHART_PATHS.script)}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

/** What the page knows in advance: the names of series, and how sites write their values. */
function configOf() {
  const described = new Set(PRODUCT_SERIES.map(({ series }) => series));
  const others = NAMED_SERIES.filter(({ name }) => !described.has(name));
  return {
    version: packageVersion(),
    productSeries: [
      ...PRODUCT_SERIES,
      ...others.map(({ name, kind }) => ({ series: name, name: inWords(name), scale: kind })),
    ],
    formats: Object.fromEntries(
      Object.keys(SITES).map((domain) => [
        domain,
        { price: productFormat('price', Number(domain)), stars: productFormat('stars', Number(domain)) },
      ]),
    ),
  };
}

/** Returns `New FBA offers` of `newFbaOffers`. */
function inWords(name: string): string {
  const words = name
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/\bfb[am]\b/g, (service) => service.toUpperCase());
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
