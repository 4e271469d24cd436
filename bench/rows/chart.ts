import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { type ChartSeries, TimeChart } from '../../src/site/kit/time-chart.tsx';
import type { Row } from '../row.ts';

/** The page of a product shows four of its series at first. */
const SERIES = ['price', 'price', 'price', 'rank'] as const;
const POINTS_EACH = 5_000;
const MINUTES_BETWEEN = 400;
const DRAWINGS = 15;
const BROWSER = process.env.CHROMIUM_BIN ?? '/usr/bin/chromium';

/**
 * Draws a history of 20,000 points in Chromium: the chart of the pages, whose series change at different
 * times, beside uPlot alone with series of common times.
 */
export async function chartRows(): Promise<Row[]> {
  const browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.setContent(await document());
    await page.waitForSelector('[data-drawn-ms]');
    const times: { ours: number; baseline: number }[] = [];
    for (let i = 0; i < DRAWINGS; i += 1)
      times.push({ ours: await cpuMs(page, 'redraw'), baseline: await cpuMs(page, 'drawBare') });
    const [ours, baseline] = [median(times.map((one) => one.ours)), median(times.map((one) => one.baseline))];
    return [
      {
        what: `history of ${SERIES.length * POINTS_EACH} points: setData and draw, CPU time in Chromium, median of ${DRAWINGS}`,
        ours: `${ours.toFixed(1)} ms`,
        baseline: `${baseline.toFixed(1)} ms (uPlot alone, common times)`,
        ratio: ours / baseline,
        aim: 'under 100 ms',
        failures: ours < 100 ? 0 : 1,
      },
    ];
  } finally {
    await browser.close();
  }
}

/** CPU time of the main thread, so that other load on the machine does not count. */
async function cpuMs(page: Page, name: 'redraw' | 'drawBare'): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taskMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find((one) => one.name === 'TaskDuration')?.value ?? 0);
  };
  const before = await taskMs();
  await page.evaluate(`new Promise((done) => { ${name}(); requestAnimationFrame(() => setTimeout(done)); })`);
  const after = await taskMs();
  await session.detach();
  return after - before;
}

async function document(): Promise<string> {
  const require = createRequire(import.meta.url);
  const library = await readFile(require.resolve('uplot/dist/uPlot.iife.min.js'), 'utf8');
  const script = await readFile(resolve('src/site/assets/time-chart.js'), 'utf8');
  const chart = renderToString(
    h(TimeChart, {
      name: 'History',
      series: history(),
      isStepped: true,
      ranges: [[30, 'Month']],
      rows: 'times',
    }),
  );
  return `<style>.time-chart-plot { width: 1100px; height: 400px }</style>
    <main id="main">${chart}</main><div id="bare"></div>
    <script>${library}</script><script>${script}</script><script>${BARE}</script>`;
}

/** `redraw` gives the chart all points again; `drawBare` gives uPlot the points in its own form. */
const BARE = `
  const { series } = JSON.parse(document.querySelector('.time-chart').dataset.chart);
  const lines = series.map(({ scale }, i) => ({ scale, stroke: 'black', paths: uPlot.paths.stepped({ align: 1 }) }));
  const bare = new uPlot({ width: 1100, height: 400, series: [{}, ...lines], axes: [{}, { scale: 'price' }, { scale: 'rank', side: 1 }] },
    [[0], ...series.map(() => [1])], document.getElementById('bare'));
  let at = 0;
  const times = series[0].times.map((one) => (at += one) * 60);
  function drawBare() { bare.setData([times, ...series.map(({ values }) => values)]); }
  function redraw() { document.querySelector('[data-days=""]').click(); }
`;

/** The series change at different times, so that the chart has to join them. */
function history(): ChartSeries[] {
  const start = Date.parse('2020-01-01');
  return SERIES.map((scale, series) => ({
    ...{ name: `${scale} ${series}`, scale, shown: true },
    points: Array.from({ length: POINTS_EACH }, (_, i) => {
      const at = start + (i * MINUTES_BETWEEN + series * 100) * 60_000;
      return [
        at,
        i % 97 === 0 ? null : 20 + 10 * Math.sin(i / 50 + series) + ((i * 7919) % 100) / 50,
      ] as const;
    }),
  }));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
