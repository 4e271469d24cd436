import Papa from 'papaparse';

/**
 * Computes the figures of research operations a second time, from the text of reports and the records of the provider. It
 * shares no code with the service, and prefers the plainest way to the fastest.
 */

interface ModelProduct {
  asin: string;
  /** Hundredths of a percent; null if blank. */
  click: number | null;
  conversion: number | null;
}

interface ModelRow {
  rank: number;
  products: ModelProduct[];
}

/** A week's rows by search term. */
export type ModelWeek = Map<string, ModelRow>;

/** A record of the provider. */
// biome-ignore lint/suspicious/noExplicitAny: the model reads records as they come.
export type RawProduct = any;

/** Reads a file in the present layout: rank, term, three brands, three categories, three products. */
export function readReport(text: string): ModelWeek {
  const lines = Papa.parse<string[]>(text.replace(/^\uFEFF/, ''), { skipEmptyLines: true }).data.slice(2);
  const week: ModelWeek = new Map();
  for (const line of lines) {
    const products: ModelProduct[] = [];
    for (const at of [8, 12, 16]) {
      const [asin = '', , click = '', conversion = ''] = line.slice(at, at + 4);
      if (asin !== '') products.push({ asin, click: hundredths(click), conversion: hundredths(conversion) });
    }
    week.set(line[1] ?? '', { rank: Number(line[0]), products });
  }
  return week;
}

function hundredths(share: string): number | null {
  return share === '' ? null : Math.round(Number(share) * 100);
}

const shown = (value: number | null, unit: number) => (value === null ? null : value / unit);

function saturday(newest: string, weeksBefore: number): string {
  const date = new Date(`${newest}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - 7 * weeksBefore);
  return date.toISOString().slice(0, 10);
}

function sum(values: (number | null)[]): number | null {
  let total: number | null = null;
  for (const value of values) if (value !== null) total = (total ?? 0) + value;
  return total;
}

function middle(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return Number.isInteger(half)
    ? ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2
    : (sorted[Math.floor(half)] ?? 0);
}

/** Returns the data of a look-up of a keyword, but for its figures. @param weeks of the site, by their Saturdays. */
export function keywordModel(
  weeks: ReadonlyMap<string, ModelWeek>,
  request: { country: string; domain: number; keyword: string; weeks: number },
  products: (asin: string) => RawProduct,
  nowMs: number,
) {
  const newest = [...weeks.keys()].sort().at(-1) ?? '';
  const rows: { week: string; row: ModelRow | null; isLoaded: boolean }[] = [];
  for (let before = 0; before < 104; before += 1) {
    const week = saturday(newest, before);
    rows.push({ week, row: weeks.get(week)?.get(request.keyword) ?? null, isLoaded: weeks.has(week) });
  }
  const window = rows.slice(0, request.weeks);
  const ranks = window.flatMap(({ row }) => (row ? [row.rank] : []));
  const [now, four, twelve] = [rows[0]?.row, rows[4]?.row, rows[12]?.row];
  const clicks = (row: ModelRow | null | undefined) => sum((row?.products ?? []).map(({ click }) => click));
  const conversions = (row: ModelRow | null | undefined) =>
    sum((row?.products ?? []).map(({ conversion }) => conversion));
  const entrants: { asin: string; week: string }[] = [];
  const leavers: { asin: string; week: string }[] = [];
  for (let i = 0; i + 1 < window.length; i += 1) {
    const [later, earlier] = [window[i]?.row, window[i + 1]?.row];
    const week = window[i]?.week ?? '';
    if (!later || !earlier) continue;
    const [had, has] = [earlier, later].map((row) => new Set(row.products.map(({ asin }) => asin)));
    for (const asin of has ?? []) if (!had?.has(asin)) entrants.push({ asin, week });
    for (const asin of had ?? []) if (!has?.has(asin)) leavers.push({ asin, week });
  }
  const [clickNow, clickTwelve] = [clicks(now), clicks(twelve)];
  const listed = (now?.products ?? []).map(({ asin, click, conversion }, i) => {
    const raw = products(asin);
    return {
      position: i + 1,
      asin,
      clickShare: shown(click, 100),
      conversionShare: shown(conversion, 100),
      ...presentOf(raw, request.domain, nowMs),
    };
  });
  const brands: { brand: string | null; clickShare: number | null }[] = [];
  for (const { brand } of listed) {
    if (brands.some((one) => one.brand === brand)) continue;
    const of = (now?.products ?? []).filter((_, i) => listed[i]?.brand === brand);
    brands.push({ brand, clickShare: shown(sum(of.map(({ click }) => click)), 100) });
  }
  brands.sort((a, b) => (b.clickShare ?? -1) - (a.clickShare ?? -1));
  return {
    country: request.country,
    keyword: request.keyword,
    week: newest,
    rank: {
      current: now?.rank ?? null,
      best: ranks.length > 0 ? Math.min(...ranks) : null,
      worst: ranks.length > 0 ? Math.max(...ranks) : null,
      change4: four && now ? four.rank - now.rank : null,
      change12: twelve && now ? twelve.rank - now.rank : null,
    },
    history: [...window]
      .reverse()
      .map(({ week, row, isLoaded }) => ({ week, rank: row?.rank ?? null, isLoaded })),
    products: listed,
    concentration: {
      clickShare: shown(clickNow, 100),
      conversionShare: shown(conversions(now), 100),
      change12: clickNow === null || clickTwelve === null ? null : (clickNow - clickTwelve) / 100,
      history: [...window].reverse().map(({ week, row }) => ({
        week,
        clickShare: shown(clicks(row), 100),
        conversionShare: shown(conversions(row), 100),
      })),
    },
    brands,
    entrants,
    leavers,
    seasonality: seasonModel(rows),
    trends: null,
  };
}

function seasonModel(rows: { week: string; row: ModelRow | null }[]) {
  const ranked = rows.flatMap(({ week, row }) =>
    row ? [{ month: new Date(week).getUTCMonth() + 1, rank: row.rank }] : [],
  );
  if (ranked.length < 52) return null;
  const usual = middle(ranked.map(({ rank }) => rank));
  const months = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((month) => {
    const own = ranked.filter((one) => one.month === month).map(({ rank }) => rank);
    const rank = own.length > 0 ? middle(own) : null;
    return {
      month,
      weeks: own.length,
      rank,
      index: rank === null ? null : Math.round((100 * usual) / rank) / 100,
    };
  });
  return { weeks: ranked.length, months };
}

/** A time from which a value was valid, in minutes since 2011, and the end of its validity. */
interface Span {
  from: number;
  to: number;
  value: number;
}

const minutesOf = (ms: number) => Math.floor(ms / 60_000) - 21_564_000;

const isoOf = (minutes: number) => `${new Date((minutes + 21_564_000) * 60_000).toISOString().slice(0, 19)}Z`;

/** Returns the spans of a series that have a value, up to a moment. */
function spansOf(raw: RawProduct, index: number, now: number): Span[] {
  const flat: number[] = raw?.csv?.[index] ?? [];
  const changes: [number, number][] = [];
  for (let i = 0; i < flat.length; i += 2) changes.push([flat[i] ?? 0, flat[i + 1] ?? 0]);
  const past = changes.filter(([time]) => time <= now);
  return past.flatMap(([from, value], i) =>
    value < 0 ? [] : [{ from, to: past[i + 1]?.[0] ?? Infinity, value }],
  );
}

function at(spans: Span[], minute: number): number | null {
  return spans.find(({ from, to }) => from <= minute && minute < to)?.value ?? null;
}

function presentOf(raw: RawProduct, domain: number, nowMs: number) {
  const now = minutesOf(nowMs);
  const value = (index: number, unit: number) => shown(at(spansOf(raw, index, now), now), unit);
  return {
    title: raw?.title ?? null,
    brand: raw?.brand || null,
    price: value(1, domain === 5 ? 1 : 100),
    currency: { 1: 'USD', 5: 'JPY' }[domain],
    rating: value(16, 10),
    reviewCount: value(17, 1),
    rank: value(3, 1),
    monthlySold: raw?.monthlySold ?? null,
  };
}

function historyModel(spans: Span[], now: number, unit: number) {
  const mean = (days: number): number | null => {
    let [weighted, length] = [0, 0];
    for (const { from, to, value } of spans) {
      const minutes = Math.min(to, now) - Math.max(from, now - days * 24 * 60);
      if (minutes > 0) [weighted, length] = [weighted + value * minutes, length + minutes];
    }
    return length === 0 ? null : Math.round(weighted / length);
  };
  const values = spans.map(({ value }) => value);
  const [current, average] = [at(spans, now), mean(90)];
  return {
    current: shown(current, unit),
    average30: shown(mean(30), unit),
    average90: shown(average, unit),
    average365: shown(mean(365), unit),
    lowest: values.length > 0 ? Math.min(...values) / unit : null,
    highest: values.length > 0 ? Math.max(...values) / unit : null,
    drop:
      current === null || !average ? null : Math.round((100 * (100 * (average - current))) / average) / 100,
  };
}

/** Returns the data of a look-up of a product, but for its figures. */
export function productModel(
  weeks: ReadonlyMap<string, ModelWeek>,
  request: {
    country: string;
    domain: number;
    asin: string;
    cost: number | null;
    otherCosts: number;
    weeks: number;
    days?: number;
  },
  raw: RawProduct,
  nowMs: number,
) {
  const now = minutesOf(nowMs);
  const unit = request.domain === 5 ? 1 : 100;
  const prices = spansOf(raw, 1, now);
  const price = at(prices, now);
  const share = raw.referralFeePercentage ?? raw.referralFeePercent;
  const referral = price === null || share === undefined ? null : Math.round((price * share) / 100);
  const fba = raw.fbaFees?.pickAndPackFee ?? null;
  const closing = raw.variableClosingFee ?? null;
  const cost = request.cost === null ? null : Math.round(request.cost * unit);
  const other = Math.round(request.otherCosts * unit);
  const profit =
    price === null || referral === null || fba === null || cost === null
      ? null
      : price - referral - (closing ?? 0) - fba - cost - other;
  const fees = { referral: shown(referral, unit), closing: shown(closing, unit), fba: shown(fba, unit) };
  const found = keywordsModel(weeks, request.asin, request.weeks);
  return {
    country: request.country,
    domainId: request.domain,
    asin: request.asin,
    currency: request.domain === 5 ? 'JPY' : 'USD',
    product: {
      title: raw.title ?? null,
      brand: raw.brand || null,
      category: raw.categoryTree?.[0]?.name ?? null,
      parentAsin: raw.parentAsin ?? null,
      image: raw.images?.[0]?.l ?? raw.imagesCSV?.split(',')[0] ?? raw.images?.[0]?.m ?? null,
      updatedAt: isoOf(raw.lastUpdate),
    },
    price: historyModel(prices, now, unit),
    rank: historyModel(spansOf(raw, 3, now), now, 1),
    keywords: found.slice(0, 100),
    hasMoreKeywords: found.length > 100,
    fees: { ...fees, source: [referral, closing, fba].some((fee) => fee !== null) ? 'products' : null },
    profit: {
      price: shown(price, unit),
      ...fees,
      cost: shown(cost, unit),
      otherCosts: other / unit,
      profit: shown(profit, unit),
      margin: profit === null || !price ? null : Math.round((10_000 * profit) / price) / 100,
      roi: profit === null || !cost ? null : Math.round((10_000 * profit) / cost) / 100,
    },
    offers: at(spansOf(raw, 11, now), now),
    monthlySold: raw.monthlySold ?? null,
    series: request.days
      ? compareModel({ domain: request.domain, days: request.days }, [raw], nowMs).series.map(
          ({ asin: _, ...row }) => row,
        )
      : null,
  };
}

function keywordsModel(weeks: ReadonlyMap<string, ModelWeek>, asin: string, count: number) {
  const newest = [...weeks.keys()].sort().at(-1) ?? '';
  const found = new Map<
    string,
    { keyword: string; week: string; rank: number; position: number; clickShare: number | null }
  >();
  for (let before = 0; before < count; before += 1) {
    const week = saturday(newest, before);
    for (const [keyword, { rank, products }] of weeks.get(week) ?? []) {
      const place = products.findIndex((one) => one.asin === asin);
      if (place < 0 || found.has(keyword)) continue;
      found.set(keyword, {
        keyword,
        week,
        rank,
        position: place + 1,
        clickShare: shown(products[place]?.click ?? null, 100),
      });
    }
  }
  return [...found.values()].sort((a, b) => (a.week === b.week ? a.rank - b.rank : a.week < b.week ? 1 : -1));
}

/** Returns the rows and summaries of a comparison. */
export function compareModel(
  request: { domain: number; days: number },
  raws: readonly RawProduct[],
  nowMs: number,
) {
  const now = minutesOf(nowMs);
  const unit = request.domain === 5 ? 1 : 100;
  const columns = { price: [1, unit], rank: [3, 1], offers: [11, 1], rating: [16, 10] } as const;
  const series: Record<string, unknown>[] = [];
  const summary = raws.map((raw) => {
    const days: Record<string, (number | null)[]> = { price: [], rank: [], offers: [], rating: [] };
    const spans = Object.entries(columns).map(([name, [index]]) => [name, spansOf(raw, index, now)] as const);
    for (let ago = request.days - 1; ago >= 0; ago -= 1) {
      const date = new Date(nowMs);
      date.setUTCHours(0, 0, 0, 0);
      date.setUTCDate(date.getUTCDate() - ago);
      const end = Math.min(now, minutesOf(date.getTime()) + 24 * 60 - 1);
      for (const [name, own] of spans) days[name]?.push(at(own, end));
      const row = Object.entries(columns).map(([name, [, of]]) => [
        name,
        shown(days[name]?.at(-1) ?? null, of),
      ]);
      series.push({ asin: raw.asin, day: date.toISOString().slice(0, 10), ...Object.fromEntries(row) });
    }
    const moved = Object.entries(columns).map(([name, [, of]]) => {
      const all = days[name] ?? [];
      const known = all.filter((value) => value !== null);
      const [first = null, last = null] = [all[0], all.at(-1)];
      const movement = {
        first: shown(first, of),
        last: shown(last, of),
        change: first === null || last === null ? null : (last - first) / of,
        average:
          known.length === 0
            ? null
            : Math.round((100 * known.reduce((total, value) => total + value, 0)) / (known.length * of)) /
              100,
        lowest: known.length === 0 ? null : Math.min(...known) / of,
        highest: known.length === 0 ? null : Math.max(...known) / of,
      };
      return [name, movement];
    });
    const { title = null, brand } = raw;
    return {
      asin: raw.asin,
      title,
      brand: brand || null,
      updatedAt: isoOf(raw.lastUpdate),
      ...Object.fromEntries(moved),
      monthlySold: raw.monthlySold ?? null,
    };
  });
  return { series, summary };
}
