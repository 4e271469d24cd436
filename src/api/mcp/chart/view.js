// Shows the result of a tool as a chart, in a program that supports MCP Apps. The program loads this page in a sandbox, and sends
// the result by postMessage: https://github.com/modelcontextprotocol/ext-apps, version 2026-01-26. `time-chart.js` draws.

const PROTOCOL = '2026-01-26';
const { version, productSeries, formats } = JSON.parse(document.getElementById('config').textContent);
const main = document.getElementById('main');
const root = document.documentElement;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Days and names of periods. A chart has those that are shorter than its time. */
const RANGES = [
  [30, 'Month'],
  [90, '3 months'],
  [365, 'Year'],
];
const COLORS = 6;
/** Series to show if none of them is usually shown. */
const MOST_SHOWN = 3;
const PERCENT = { style: 'unit', unit: 'percent', minimumFractionDigits: 2, maximumFractionDigits: 2 };

/** The last result; null: none yet. */
let result = null;

// Charts: a heading, and series of [Unix milliseconds, value]; a null is a gap.

/** Returns the charts of an answer, one for each product; none if it has no histories. */
function chartsOf(data) {
  const { products, timelineData } = data;
  const history = recordsOf(data.history);
  if (products)
    return recordsOf(products)
      .map((one) => productChart(one, data))
      .filter(hasPoints);
  if (timelineData?.rows) return [interestChart(data)].filter(hasPoints);
  if (Array.isArray(history)) return [keywordChart({ ...data, history })].filter(hasPoints);
  return [];
}

/** Returns the records of a list, which may be a table: {columns, rows}, where `history.new` is a field of an object. */
function recordsOf(list) {
  if (!list?.rows) return list;
  return list.rows.map((row) => {
    const record = {};
    for (const [i, column] of list.columns.entries()) {
      // A column of lists has no name alone.
      const path = typeof column === 'string' ? column.split('.') : [];
      const last = path.pop();
      let owner = record;
      for (const name of path) owner = owner[name] ??= {};
      if (last !== undefined) owner[last] = row[i];
    }
    return record;
  });
}

function hasPoints({ series }) {
  return series.length > 0;
}

/**
 * The histories of a product. A value holds until the next one, and the last one until the end of the chart. The end of a lightning
 * deal may be in the future, and is left out.
 */
function productChart({ asin, title, history, domainId }, data) {
  const format = formats[data.domainId ?? domainId] ?? {};
  const found = productSeries.flatMap(({ series, name, scale, shown = false }) => {
    const points = pointsOf(history?.[series]).filter(([at]) => at <= Date.now());
    return isEmpty(points) ? [] : [{ name, scale, format: format[scale], points, shown }];
  });
  const end = Math.max(...found.map(({ points }) => points.at(-1)[0]));
  for (const { points } of found) {
    const [at, value] = points.at(-1);
    if (at < end) points.push([end, value]);
  }
  if (!found.some(({ shown }) => shown)) for (const one of found.slice(0, MOST_SHOWN)) one.shown = true;
  const heading = [title, asin].filter(Boolean).join(' · ');
  return { name: 'Prices and ranks', heading, isStepped: true, series: found };
}

/** Reads `[["2026-11-01", 19.99], ...]`, which may begin with the names of its columns. A price includes its shipping. */
function pointsOf(list) {
  if (!Array.isArray(list)) return [];
  const isNamed = list[0]?.[0] === 'time';
  const columns = isNamed ? list[0] : ['time', 'value'];
  const [at, shipping] = [columns.indexOf('value'), columns.indexOf('shipping')];
  if (at === -1) return [];
  return list.slice(isNamed ? 1 : 0).map((row) => {
    const amount = numberOf(row[at]);
    const added = numberOf(row[shipping]) ?? 0;
    return [Date.parse(row[0]), amount === null ? null : Math.round((amount + added) * 100) / 100];
  });
}

/** The ranks of a search term by week, and the shares of its three most-clicked products. */
function keywordChart({ keyword, country, word, history }) {
  const series = (name, key, rest) => ({
    name,
    points: history.map((week) => [Date.parse(week.reportDate), numberOf(week[key])]),
    ...rest,
  });
  return {
    name: 'Rank and shares',
    heading: [keyword ?? word?.keyword, country ?? word?.country].filter(Boolean).join(' · '),
    series: [
      series('Rank', 'rank', { scale: 'rank', shown: true }),
      series('Clicks, three products', 'clickShareSum', { scale: 'percent', format: PERCENT, shown: true }),
      series('Purchases, three products', 'convShareSum', {
        scale: 'percent',
        format: PERCENT,
        shown: false,
      }),
    ].filter(({ points }) => !isEmpty(points)),
  };
}

/** The interest in each keyword, from 0 to 100. */
function interestChart({ timelineData: { columns, rows }, geo }) {
  const keywords = columns.slice(1);
  const series = keywords.map((name, i) => ({
    name,
    scale: 'index',
    shown: true,
    points: rows.map(([date, ...values]) => [Date.parse(date), numberOf(values[i])]),
  }));
  return {
    name: 'Interest over time',
    heading: [keywords.join(', '), geo || 'worldwide'].join(' · '),
    series: series.filter(({ points }) => !isEmpty(points)),
  };
}

function numberOf(value) {
  return typeof value === 'number' ? value : null;
}

function isEmpty(points) {
  return points.every(([at, value]) => value === null || Number.isNaN(at));
}

/** Returns why an answer has no chart. */
function reasonOf(data, isError) {
  if (isError) return `The call failed: ${data.error?.message ?? 'the result has no message.'}`;
  if (data.outline) return 'The answer is too large for a chart. Ask for fewer points or a shorter period.';
  if (data.dryRun) return `The call would cost ${data.units} units. A price has no chart.`;
  if (data.jobId && data.hint) return 'The call has not ended yet. Its answer follows as text.';
  const products = recordsOf(data.products);
  if (products?.length === 0) return 'No product was found.';
  if (products?.some(({ history }) => history)) return 'The provider has no history of this product.';
  if (data.products)
    return 'This answer has no history. Ask for the price history of the product to see a chart.';
  if (data.timelineData) return 'Too few people searched for these words.';
  if (data.history) return 'No week with this term is loaded.';
  return 'This answer has no history to draw.';
}

// The page

function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== false) node.setAttribute(key, value === true ? '' : String(value));
  node.append(...children);
  return node;
}

function say(sentence) {
  main.replaceChildren(element('p', { role: 'status' }, sentence));
}

/** Shows the result. A chart takes its colors when it is drawn, so this runs again when the theme changes. */
function show() {
  if (!result) return;
  const data = dataOf(result);
  const charts = result.isError ? [] : chartsOf(data);
  if (charts.length === 0) say(reasonOf(data, result.isError));
  else showChart(charts, 0);
}

function dataOf({ structuredContent, content = [] }) {
  if (structuredContent) return structuredContent;
  try {
    return JSON.parse(content.find(({ type }) => type === 'text')?.text ?? '{}') ?? {};
  } catch {
    return {};
  }
}

function showChart(charts, chosen) {
  const chart = charts[chosen];
  const heading = element('h1', {}, chart.heading);
  main.replaceChildren(charts.length > 1 ? choiceOf(charts, chosen) : heading, figureOf(chart));
}

function choiceOf(charts, chosen) {
  const options = charts.map(({ heading }, i) =>
    element('option', { value: i, selected: i === chosen }, heading),
  );
  const select = element('select', { 'aria-label': 'Product' }, ...options);
  select.addEventListener('change', () => showChart(charts, Number(select.value)));
  return select;
}

/** The elements that `time-chart.js` draws in. */
function figureOf({ name, isStepped = false, series }) {
  const data = { isStepped, series: series.map(compact) };
  return element(
    'figure',
    { class: 'time-chart', 'aria-label': name, 'data-chart': JSON.stringify(data) },
    element(
      'div',
      { class: 'time-chart-bar' },
      ...periodsOf(series),
      element('span', { class: 'time-chart-at', 'aria-hidden': 'true' }),
    ),
    element('div', {
      class: 'time-chart-plot',
      role: 'slider',
      tabindex: 0,
      'aria-label': `${name}: time`,
      'aria-valuemin': 0,
      'aria-valuemax': 100,
      'aria-valuenow': 100,
    }),
    element('ul', { class: 'time-chart-series' }, ...series.map(rowOf)),
  );
}

/** The buttons of periods; none if no period is shorter than the chart. */
function periodsOf(series) {
  const times = series.flatMap(({ points }) => points.map(([at]) => at));
  const days = (Math.max(...times) - Math.min(...times)) / DAY_MS;
  const shorter = RANGES.filter(([length]) => length < days);
  if (shorter.length === 0) return [];
  const buttons = [...shorter, ['', 'All']].map(([length, text]) =>
    element('button', { type: 'button', 'data-days': length, 'aria-pressed': String(length === '') }, text),
  );
  return [element('fieldset', { class: 'segments', 'aria-label': 'Period' }, ...buttons)];
}

function rowOf({ name, shown }, i) {
  const line = `line line-${(i % COLORS) + 1}${i < COLORS ? '' : ' dashed'}`;
  return element(
    'li',
    {},
    element(
      'label',
      {},
      element('input', { type: 'checkbox', checked: shown, 'data-series': i }),
      element('span', { class: line }),
      ` ${name} `,
      element('output', {}),
    ),
  );
}

/** Times in minutes, each as the difference from the one before. */
function compact({ scale, format = {}, points }) {
  let before = 0;
  const times = points.map(([at]) => {
    const minute = Math.round(at / MINUTE_MS);
    const difference = minute - before;
    before = minute;
    return difference;
  });
  return { scale, format, times, values: points.map(([, value]) => value) };
}

// The protocol: JSON-RPC with the program that shows this page

const INITIALIZE = 1;

function send(message) {
  window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
}

/** Follows the theme, the colors and the font of the program. */
function applyContext({ theme, styles, containerDimensions }) {
  const before = root.dataset.theme;
  if (theme) root.dataset.theme = theme === 'dark' ? 'dark' : 'light';
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (name.startsWith('--') && value) root.style.setProperty(name, value);
  if (containerDimensions) root.toggleAttribute('data-fixed', 'height' in containerDimensions);
  if (root.dataset.theme !== before) show();
}

const NOTIFICATIONS = {
  'ui/notifications/tool-result': (params) => {
    result = params;
    show();
  },
  'ui/notifications/tool-cancelled': () => say('The call was cancelled.'),
  'ui/notifications/host-context-changed': applyContext,
};

const REQUESTS = ['ping', 'ui/resource-teardown'];

function receive({ id, method, params = {}, result: answer, error }) {
  if (method === undefined) {
    if (id !== INITIALIZE) return;
    if (error) return say(`The program cannot show the chart: ${error.message}`);
    applyContext(answer.hostContext ?? {});
    send({ method: 'ui/notifications/initialized' });
    new ResizeObserver(reportHeight).observe(document.body);
  } else if (id === undefined) NOTIFICATIONS[method]?.(params);
  else if (REQUESTS.includes(method)) send({ id, result: {} });
  else send({ id, error: { code: -32_601, message: 'Method not found' } });
}

function reportHeight() {
  const height = Math.ceil(document.body.getBoundingClientRect().height);
  send({ method: 'ui/notifications/size-changed', params: { height } });
}

window.addEventListener('message', ({ source, data }) => {
  if (source === window.parent && data?.jsonrpc === '2.0') receive(data);
});
root.dataset.theme = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
send({
  id: INITIALIZE,
  method: 'ui/initialize',
  params: {
    appInfo: { name: 'souk-chart', version },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    protocolVersion: PROTOCOL,
  },
});
