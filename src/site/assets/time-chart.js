// Draws charts over time: <figure class="time-chart" data-chart="JSON">, as kit/time-chart.tsx writes it.

/** Minutes. */
const DAY = 1440;
const SHORTEST = DAY / 4;
/** Series with more values have no dots. */
const MOST_DOTS = 30;
/** Pixels. */
const NARROW = 480;
/** Distances between the marks of an axis of whole numbers. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .flatMap((step) => [step, step * 1e3, step * 1e6])
  .sort((a, b) => a - b);
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const NAMES = {
  price: 'Price',
  rank: 'Rank',
  stars: 'Rating',
  count: 'Count',
  percent: 'Percent',
  index: 'Interest',
};

drawNew();
// A part of the page that is refreshed may contain a chart.
new MutationObserver(drawNew).observe(document.getElementById('main'), { childList: true, subtree: true });

function drawNew() {
  for (const figure of document.querySelectorAll('.time-chart:not([data-drawn])')) {
    figure.dataset.drawn = '';
    draw(figure, read(JSON.parse(figure.dataset.chart)));
  }
}

function read({ series, ...chart }) {
  const all = series.map(({ times, ...rest }) => {
    let at = 0;
    return { ...rest, times: times.map((difference) => (at += difference)) };
  });
  const ends = all.filter(({ times }) => times.length > 0).map(({ times }) => [times[0], times.at(-1)]);
  const first = Math.min(...ends.map(([one]) => one));
  const last = Math.max(...ends.map(([, one]) => one));
  // A single time is shown in the middle of a week.
  const room = first === last ? 3.5 * DAY : 0;
  return { ...chart, series: all, from: first - room, to: last + room, last };
}

function draw(figure, chart) {
  const { series } = chart;
  const plot = figure.querySelector('.time-chart-plot');
  const boxes = [...figure.querySelectorAll('[data-series]')];
  const buttons = [...figure.querySelectorAll('[data-days]')];
  const at = figure.querySelector('.time-chart-at');
  const isShown = (i) => boxes[i].checked;
  let view = [chart.from, chart.to];
  /** Minutes; null: no time is pointed at. */
  let pointed = null;

  const started = performance.now();
  plot.replaceChildren();
  const u = new window.uPlot(
    optionsFor(figure, plot, chart, isShown, { point, select }),
    within(chart, ...view),
    plot,
  );
  figure.dataset.drawnMs = String(Math.round(performance.now() - started));
  write();

  for (const box of boxes) {
    box.disabled = false;
    box.addEventListener('change', () => u.setSeries(Number(box.dataset.series) + 1, { show: box.checked }));
  }
  for (const button of buttons) {
    button.disabled = false;
    button.addEventListener('click', () => {
      const days = Number(button.dataset.days);
      show(days ? chart.to - days * DAY : chart.from, chart.to, button);
    });
  }
  plot.addEventListener('keydown', (event) => {
    if (press(event.key)) event.preventDefault();
  });
  plot.addEventListener('dblclick', () => show(chart.from, chart.to));
  dark.addEventListener('change', () => u.redraw());
  new ResizeObserver(() => u.setSize(sizeOf(plot))).observe(plot);

  function show(from, to, button = buttons.at(-1)) {
    const length = Math.min(Math.max(to - from, SHORTEST), chart.to - chart.from);
    const first = Math.min(Math.max(from, chart.from), chart.to - length);
    view = [first, first + length];
    const isWhole = length === chart.to - chart.from;
    for (const one of buttons)
      one.setAttribute('aria-pressed', String(isWhole ? !one.dataset.days : one === button));
    u.batch(() => {
      u.setData(within(chart, ...view), false);
      u.setScale('x', { min: view[0] * 60, max: view[1] * 60 });
    });
    write();
  }

  function select(from, to) {
    show(from, to, null);
  }

  function point(minute) {
    pointed = minute;
    write();
  }

  function press(key) {
    const [from, to] = view;
    const length = to - from;
    const time = pointed ?? to;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, ArrowDown: -1, ArrowUp: 1 };
    if (key in steps) move(time + (steps[key] * length) / 100);
    else if (key === 'Home') move(from);
    else if (key === 'End') move(to);
    else if (key === '+' || key === '=') show(time - length / 4, time + length / 4, null);
    else if (key === '-') show(time - length, time + length, null);
    else return false;
    return true;
  }

  /** Moves the cursor with the keyboard; beyond an end of the view, the view moves along. */
  function move(minute) {
    const time = Math.min(Math.max(minute, chart.from), chart.to);
    const [from, to] = view;
    if (time < from) show(time, time + to - from, null);
    else if (time > to) show(time - (to - from), time, null);
    pointed = time;
    u.setCursor({ left: u.valToPos(time * 60, 'x'), top: 0 }, false);
    write();
  }

  /** Writes the values at the time that is pointed at, or the last ones of the view. */
  function write() {
    const time = Math.min(pointed ?? chart.last, view[1]);
    const texts = series.map((one, i) => {
      const text = formatOf(one)(valueAt(chart, one, time));
      boxes[i].closest('label').querySelector('output').textContent = text;
      return isShown(i) ? `${boxes[i].closest('label').textContent.trim().replace(/\s+/g, ' ')}` : null;
    });
    at.textContent = timeText(chart, time);
    const share = (100 * (time - chart.from)) / (chart.to - chart.from);
    plot.setAttribute('aria-valuenow', String(Math.round(share)));
    plot.setAttribute('aria-valuetext', [at.textContent, ...texts.filter(Boolean)].join(', '));
  }
}

function optionsFor(figure, plot, chart, isShown, { point, select }) {
  const color = (name) => getComputedStyle(figure).getPropertyValue(name).trim();
  const scales = [...new Set(chart.series.map(({ scale }) => scale))];
  const axis = { stroke: () => color('--muted'), ticks: { show: false }, font: '12px system-ui, sans-serif' };
  // Names of axes would take a third of a narrow chart.
  const isNamed = plot.clientWidth >= NARROW;
  return {
    ...sizeOf(plot),
    legend: { show: false },
    tzDate: (seconds) => window.uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    series: [
      {},
      ...chart.series.map((one, i) => ({
        scale: one.scale,
        show: isShown(i),
        stroke: () => color(`--series-${(i % 6) + 1}`),
        width: one.scale === 'rank' ? 1 : 2,
        ...(i < 6 ? {} : { dash: [6, 4] }),
        points: { show: !chart.isStepped && one.times.length <= MOST_DOTS, size: 6 },
        ...(chart.isStepped ? { paths: window.uPlot.paths.stepped({ align: 1, alignGaps: 1 }) } : {}),
      })),
    ],
    scales: {
      x: { min: chart.from * 60, max: chart.to * 60 },
      ...Object.fromEntries(
        scales.map((scale) => [
          scale,
          { ...(scale === 'rank' ? { dir: -1 } : {}), range: (_u, min, max) => rangeOf(scale, min, max) },
        ]),
      ),
    },
    axes: [
      { ...axis, grid: { stroke: () => color('--line'), width: 1 }, space: 70 },
      ...scales.map((scale, i) => ({
        ...axis,
        scale,
        // Between two ranks or counts is nothing.
        ...(scale === 'rank' || scale === 'count' ? { incrs: WHOLE } : {}),
        side: i === 0 ? 3 : 1,
        size: isNamed ? 58 : 44,
        ...(isNamed ? { label: NAMES[scale], labelSize: 18, labelFont: '12px system-ui, sans-serif' } : {}),
        grid: { show: i === 0, stroke: () => color('--line'), width: 1 },
        values: (_u, ticks) =>
          ticks.map(
            tickFormat(
              chart.series.find((one) => one.scale === scale),
              ticks,
            ),
          ),
      })),
    ],
    hooks: {
      setCursor: [(u) => point(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, 'x') / 60 : null)],
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width < 4) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          select(u.posToVal(left, 'x') / 60, u.posToVal(left + width, 'x') / 60);
        },
      ],
    },
  };
}

function rangeOf(scale, min, max) {
  if (min === null) return [null, null];
  if (scale === 'stars') return [0, 5];
  if (scale === 'percent' || scale === 'index') return [0, Math.max(max * 1.05, 1)];
  const room = (max - min || Math.abs(max) || 1) * 0.06;
  return [Math.max(0, min - room), max + room];
}

/** The times and values in a view, for uPlot: with the values at its edges, so that lines begin and end there. */
function within(chart, from, to) {
  const parts = chart.series.map((one) => cut(chart, one, from, to));
  const times = Float64Array.from(parts.flatMap((part) => part.times))
    .sort()
    .filter((time, i, all) => time !== all[i - 1]);
  const columns = parts.map((part) => {
    let next = 0;
    let last;
    return Array.from(times, (time) => {
      if (part.times[next] !== time) return last === null ? null : undefined;
      // The last of several values at a time counts.
      while (part.times[next] === time) last = part.values[next++];
      return last;
    });
  });
  return [Array.from(times, (time) => time * 60), ...columns];
}

function cut(chart, one, from, to) {
  const first = countUntil(one.times, from);
  const last = countUntil(one.times, to);
  if (!chart.isStepped) {
    const begin = Math.max(first - 1, 0);
    return { times: one.times.slice(begin, last + 1), values: one.values.slice(begin, last + 1) };
  }
  const times = one.times.slice(first, last);
  const values = one.values.slice(first, last);
  if (first > 0) {
    times.unshift(from);
    values.unshift(one.values[first - 1]);
  }
  if (last > 0) {
    times.push(to);
    values.push(one.values[last - 1]);
  }
  return { times, values };
}

/** How many of the times are not after this one. */
function countUntil(times, minute) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= minute) low = middle + 1;
    else high = middle;
  }
  return low;
}

function valueAt({ isStepped }, { times, values }, minute) {
  const next = countUntil(times, minute);
  if (isStepped) return values[next - 1] ?? null;
  const isNextNearer = next === 0 || (next < times.length && times[next] - minute < minute - times[next - 1]);
  return values[isNextNearer ? next : next - 1] ?? null;
}

function formatOf({ format }) {
  const number = new Intl.NumberFormat('en', format);
  return (value) => (value === null ? '-' : number.format(value));
}

function tickFormat({ format }, ticks) {
  const isLarge = Math.max(...ticks) >= 10_000;
  const number = new Intl.NumberFormat('en', {
    ...format,
    minimumFractionDigits: 0,
    ...(isLarge ? { notation: 'compact' } : {}),
  });
  return (tick) => number.format(tick);
}

function timeText({ hasTimes }, minute) {
  const iso = new Date(Math.round(minute) * 60_000).toISOString();
  return hasTimes ? `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC` : iso.slice(0, 10);
}

function sizeOf(plot) {
  return { width: plot.clientWidth, height: plot.clientHeight };
}
