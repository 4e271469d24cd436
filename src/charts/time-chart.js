// Draws charts over time: <figure class="time-chart" data-chart="JSON">, as src/site/kit/time-chart.tsx and src/api/mcp/chart/view.js
// write it.

/** Minutes. */
const DAY = 1440;
const SHORTEST = DAY / 4;
/** Series with more values have no dots. */
const MOST_DOTS = 60;
/** Pixels. A narrower chart has no names of axes. */
const NARROW = 480;
/** Distances between the marks of an axis of whole numbers. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .flatMap((step) => [step, step * 1e3, step * 1e6])
  .sort((a, b) => a - b);
/** The same of an axis of days, in seconds: uPlot's own, without parts of a day. */
const BY_DAY = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15],
  ...[1, 2, 3, 4, 6].map((months) => months * 30),
  ...[1, 2, 5, 10].map((years) => years * 365),
].map((days) => days * DAY * 60);
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const NAMES = {
  price: 'Price',
  money: 'Amount',
  rank: 'Rank',
  stars: 'Rating',
  count: 'Count',
  percent: 'Percent',
  index: 'Interest',
  seconds: 'Seconds',
};

function drawNew() {
  for (const figure of document.querySelectorAll('.time-chart:not([data-drawn])')) {
    figure.dataset.drawn = '';
    const chart = read(JSON.parse(figure.dataset.chart));
    // Without times there is nothing to draw.
    if (Number.isFinite(chart.from)) new TimeChart(figure, chart).draw();
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
  const isByDay = all.every(({ times }) => times.every((time) => time % DAY === 0));
  return { ...chart, series: all, from: first - room, to: last + room, last, isByDay };
}

/** A chart in its figure, with its view and the time that is pointed at. */
class TimeChart {
  #figure;
  #chart;
  #plot;
  /** The boxes that show and hide series, in their order. */
  #boxes;
  /** The buttons of periods. */
  #buttons;
  #u;
  /** The first and the last minute. */
  #view;
  /** Minutes; null: no time is pointed at. */
  #pointed = null;
  /** The values at the pointer. */
  #tip = document.createElement('div');
  /** The view in the address of the page; null: not there. */
  #address;

  constructor(figure, chart) {
    this.#figure = figure;
    this.#chart = chart;
    this.#plot = figure.querySelector('.time-chart-plot');
    this.#boxes = [...figure.querySelectorAll('[data-series]')];
    this.#buttons = [...figure.querySelectorAll('[data-days]')];
    this.#view = [chart.from, chart.to];
    this.#address = addressOf(figure);
  }

  draw() {
    const started = performance.now();
    const lines = this.#address?.read('lines')?.split('.');
    if (lines) for (const box of this.#boxes) box.checked = lines.includes(box.dataset.series);
    this.#plot.replaceChildren();
    const options = optionsFor(this.#figure, this.#plot, this.#chart, (i) => this.#boxes[i].checked, {
      point: (minute) => this.#point(minute),
      select: (from, to) => {
        this.#show(from, to, null);
        this.#keep();
      },
    });
    this.#u = new window.uPlot(options, within(this.#chart, ...this.#view), this.#plot);
    this.#tip.className = 'time-chart-tip';
    this.#tip.setAttribute('aria-hidden', 'true');
    this.#u.over.append(this.#tip);
    this.#open();
    this.#figure.dataset.drawnMs = String(Math.round(performance.now() - started));
    this.#figure.querySelector('[data-picture]')?.removeAttribute('hidden');
    this.#listen();
  }

  /** Shows the period that the address names, or that of the pressed button. */
  #open() {
    const range = this.#address?.read('range');
    const [from, to] = (range ?? '').split('~').map((day) => Date.parse(day) / 60_000);
    if (from < to) return this.#show(from, to, null);
    const isChosen = (one) =>
      range ? range === (one.dataset.days || 'all') : one.getAttribute('aria-pressed') === 'true';
    this.#choose(this.#buttons.find(isChosen));
  }

  /** Keeps the view in the address. */
  #keep() {
    if (!this.#address) return;
    const button = this.#buttons.find((one) => one.getAttribute('aria-pressed') === 'true');
    const [from, to] = this.#view.map((minute) => new Date(minute * 60_000).toISOString().slice(0, 16));
    const lines = this.#boxes.filter((box) => box.checked).map((box) => box.dataset.series);
    this.#address.write({
      range: button ? button.dataset.days || 'all' : `${from}Z~${to}Z`,
      lines: lines.join('.'),
    });
  }

  /** Shows the period of a button up to the end; without one, everything. */
  #choose(button) {
    const { from, to } = this.#chart;
    const days = Number(button?.dataset.days);
    this.#show(days ? to - days * DAY : from, to, button ?? null);
  }

  #listen() {
    for (const box of this.#boxes) {
      box.disabled = false;
      const number = Number(box.dataset.series) + 1;
      box.addEventListener('change', () => {
        this.#u.setSeries(number, { show: box.checked });
        this.#write();
        this.#keep();
      });
    }
    for (const button of this.#buttons) {
      button.disabled = false;
      button.addEventListener('click', () => {
        this.#choose(button);
        this.#keep();
      });
    }
    this.#plot.addEventListener('keydown', (event) => {
      // The keys of the browser, which zoom the page or go back.
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (!this.#press(event.key)) return;
      event.preventDefault();
      if ('+=-'.includes(event.key)) this.#keep();
    });
    this.#plot.addEventListener('blur', () => this.#point(null));
    this.#plot.addEventListener('dblclick', () => {
      this.#choose(this.#buttons.at(-1));
      this.#keep();
    });
    dark.addEventListener('change', () => this.#u.redraw());
    new ResizeObserver(() => this.#u.setSize(sizeOf(this.#plot))).observe(this.#plot);
  }

  /** Shows a part of the chart. @param button the button of this period; null: none. */
  #show(from, to, button) {
    const chart = this.#chart;
    const length = Math.min(Math.max(to - from, SHORTEST), chart.to - chart.from);
    const first = Math.min(Math.max(from, chart.from), chart.to - length);
    this.#view = [first, first + length];
    const isWhole = length === chart.to - chart.from;
    for (const one of this.#buttons)
      one.setAttribute('aria-pressed', String(isWhole ? !one.dataset.days : one === button));
    this.#u.batch(() => {
      const [min, max] = this.#view;
      this.#u.setData(within(chart, min, max), false);
      this.#u.setScale('x', { min: min * 60, max: max * 60 });
    });
    this.#write();
  }

  #point(minute) {
    this.#pointed = minute;
    this.#write();
  }

  /** Follows a key. Returns whether it has a meaning. */
  #press(key) {
    const [from, to] = this.#view;
    const length = to - from;
    const time = this.#pointed ?? to;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, ArrowDown: -1, ArrowUp: 1 };
    if (key in steps) this.#move(time + (steps[key] * length) / 100);
    else if (key === 'Home') this.#move(from);
    else if (key === 'End') this.#move(to);
    else if (key === '+' || key === '=') this.#show(time - length / 4, time + length / 4, null);
    else if (key === '-') this.#show(time - length, time + length, null);
    else return false;
    return true;
  }

  /** Moves the cursor with the keyboard; beyond an end of the view, the view moves along. */
  #move(minute) {
    const time = Math.min(Math.max(minute, this.#chart.from), this.#chart.to);
    const [from, to] = this.#view;
    if (time < from) this.#show(time, time + to - from, null);
    else if (time > to) this.#show(time - (to - from), time, null);
    this.#pointed = time;
    this.#u.setCursor({ left: this.#u.valToPos(time * 60, 'x'), top: 0 }, false);
    this.#write();
  }

  /** Writes the values at the time that is pointed at, or the last ones of the view. */
  #write() {
    const chart = this.#chart;
    const time = Math.min(this.#pointed ?? chart.last, this.#view[1]);
    const texts = chart.series.map((one, i) => {
      const label = this.#boxes[i].closest('label');
      label.querySelector('output').textContent = formatOf(one)(valueAt(chart, one, time));
      return this.#boxes[i].checked ? label.textContent.trim().replace(/\s+/g, ' ') : null;
    });
    const at = this.#figure.querySelector('.time-chart-at');
    at.textContent = timeText(chart, time);
    const share = (100 * (time - chart.from)) / (chart.to - chart.from);
    this.#plot.setAttribute('aria-valuenow', String(Math.round(share)));
    this.#plot.setAttribute('aria-valuetext', [at.textContent, ...texts.filter(Boolean)].join(', '));
    this.#showTip(at.textContent);
  }

  /** Shows the values next to the pointer, on its wider side. */
  #showTip(text) {
    this.#tip.hidden = this.#pointed === null;
    if (this.#tip.hidden) return;
    const shown = this.#boxes.filter((box) => box.checked).map((box) => box.closest('label').cloneNode(true));
    for (const label of shown) label.querySelector('input').remove();
    this.#tip.replaceChildren(text, ...shown);
    const { clientWidth: width, clientHeight: height } = this.#u.over;
    const left = this.#u.valToPos(this.#pointed * 60, 'x');
    const isRight = left < width / 2;
    const top = Math.min(Math.max(this.#u.cursor.top, 0), Math.max(height - this.#tip.clientHeight - 2, 0));
    Object.assign(this.#tip.style, {
      left: isRight ? `${left + 12}px` : '',
      right: isRight ? '' : `${width - left + 12}px`,
      top: `${top}px`,
      maxWidth: `${Math.max(left, width - left) - 16}px`,
    });
  }
}

/** The places of a chart's view in the address of its page, so that others see the same; null for a chart without an address. */
function addressOf(figure) {
  if (!('addressed' in figure.dataset)) return null;
  const place = [...document.querySelectorAll('[data-addressed]')].indexOf(figure);
  const named = (name) => (place === 0 ? name : `${name}${place + 1}`);
  return {
    read: (name) => new URL(window.location.href).searchParams.get(named(name)),
    write(values) {
      const url = new URL(window.location.href);
      for (const [name, value] of Object.entries(values)) url.searchParams.set(named(name), value);
      window.history.replaceState(window.history.state, '', url);
    },
  };
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
        points: {
          show: !chart.isStepped && one.times.length <= MOST_DOTS,
          size: 6,
          filter: (u, column, isShown) => (isShown || chart.isStepped ? null : alone(u.data[column])),
        },
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
      {
        ...axis,
        grid: { stroke: () => color('--line'), width: 1 },
        space: 90,
        ...(chart.isByDay ? { incrs: BY_DAY } : {}),
        values: (_u, ticks, _axis, _space, step) => ticks.map((tick) => dateText(tick, step / 60)),
      },
      ...scales.map((scale, i) => ({
        ...axis,
        scale,
        // Ranks and counts are whole numbers.
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

/** The places of values between gaps, which no line connects with others. */
function alone(values) {
  const own = [...values.keys()].filter((place) => values[place] !== undefined);
  const isGap = (place) => (values[place] ?? null) === null;
  return own.filter((place, i) => !isGap(place) && isGap(own[i - 1]) && isGap(own[i + 1]));
}

function rangeOf(scale, min, max) {
  if (min === null) return [null, null];
  if (scale === 'stars') return [0, 5];
  if (scale === 'percent' || scale === 'index') return [0, Math.max(max * 1.05, 1)];
  if (scale === 'seconds') return [0, max * 1.05];
  const room = (max - min || Math.abs(max) || 1) * 0.06;
  // Losses are below zero.
  if (scale === 'money') return [Math.min(0, min - room), max + room];
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

function timeText({ isByDay }, minute) {
  const iso = new Date(Math.round(minute) * 60_000).toISOString();
  return isByDay ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** The part of a date that differs between marks of an axis. @param step minutes between two marks. */
function dateText(seconds, step) {
  const iso = new Date(seconds * 1000).toISOString();
  if (step >= 365 * DAY) return iso.slice(0, 4);
  if (step >= 28 * DAY) return iso.slice(0, 7);
  return step >= DAY || iso.slice(11, 16) === '00:00' ? iso.slice(0, 10) : iso.slice(11, 16);
}

function sizeOf(plot) {
  return { width: plot.clientWidth, height: plot.clientHeight };
}

drawNew();
// A part of the page that is refreshed may contain a chart.
new MutationObserver(drawNew).observe(document.getElementById('main'), { childList: true, subtree: true });
