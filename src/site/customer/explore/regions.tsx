import type { VNode } from 'preact';
import { assetText, assetUrl } from '../../kit/assets.ts';
import { type Column, Table } from '../../kit/table.tsx';
import { Dash } from '../../kit/words.tsx';
import type { Value } from './trends-page.tsx';

/** The data of the call for interest by region. */
export interface RegionsData {
  keywords: string[];
  /** Shares of the keywords in a region, or one keyword compared with its best region. */
  valueMode: 'percentage' | 'index';
  regions: Region[];
}

const BARS_SHOWN = 25;

/** Interest by region: a map if there is one of these regions, bars of the first ones, and a table of all. */
export function RegionsInterest({ data }: { data: RegionsData }): VNode {
  const { keywords, valueMode } = data;
  const known = data.regions.filter(({ values }) => values.some(({ hasData }) => hasData));
  if (known.length === 0) return <p class="empty">Too few people searched for these words.</p>;
  const unit = valueMode === 'percentage' ? ' %' : '';
  const map = mapOf(known);
  return (
    <>
      <p class="hint">
        {valueMode === 'percentage'
          ? 'Shares of the keywords in a region.'
          : '100 is the region with the highest interest.'}
        {map && keywords.length > 1 && ' A region has the colour of the keyword with the largest share.'}
      </p>
      {(map || keywords.length > 1) && <Scale keywords={keywords} unit={unit} />}
      {map && <RegionMap map={map} regions={known} keywords={keywords} unit={unit} />}
      {known.length > BARS_SHOWN && (
        <p class="hint">
          The first {BARS_SHOWN} of {known.length} regions:
        </p>
      )}
      <RegionBars regions={known.slice(0, BARS_SHOWN)} unit={unit} />
      <details>
        <summary>Show as a table</summary>
        <Table name="Interest by region" columns={columnsFor(keywords, unit)} rows={data.regions} />
      </details>
    </>
  );
}

/** One bar for each keyword. */
function RegionBars({ regions, unit }: { regions: readonly Region[]; unit: string }): VNode {
  return (
    <dl class="bars">
      {regions.map(({ geoCode, geoName, values }) => (
        <div key={geoCode ?? geoName}>
          <dt>{geoName}</dt>
          {values.map(({ query, value }, i) => (
            <dd key={query}>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={value} height="10" class={`series-${i + 1}`} />
              </svg>
              <span>
                {values.length > 1 && <span class="aside">{query}: </span>}
                {value}
                {unit}
              </span>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

function columnsFor(keywords: readonly string[], unit: string): Column<Region>[] {
  return [
    ['Region', ({ geoName }) => geoName, 'row'],
    ['Code', ({ geoCode }) => geoCode ?? <Dash />],
    ...keywords.map(
      (keyword, i): Column<Region> => [
        keyword,
        ({ values }) => (values[i]?.hasData ? `${values[i].value}${unit}` : <Dash />),
        'number',
      ],
    ),
  ];
}

/** The interest in a region. */
export interface Region {
  /** Such as `DE` or `US-CA`; null for a city. */
  geoCode: string | null;
  geoName: string;
  /** One for each keyword. */
  values: Value[];
}

/** A map of regions, whose shapes a page draws by their codes. `npm run generate` writes its file. */
interface ShapeMap {
  url: string;
  viewBox: string;
  codes: ReadonlySet<string>;
}

const FILES = ['map-world.svg', 'map-us.svg'];

/** Shades of a colour, from the lowest values to the highest. */
const LEVELS = [1, 2, 3, 4, 5] as const;

const maps = new Map<string, ShapeMap>();

/** Returns the map that has any of these regions; null if none has. Regions of other kinds, such as cities, have no map. */
export function mapOf(regions: readonly Pick<Region, 'geoCode'>[]): ShapeMap | null {
  const found = FILES.map(readMap).find(({ codes }) =>
    regions.some(({ geoCode }) => geoCode !== null && codes.has(geoCode)),
  );
  return found ?? null;
}

/** Reads the codes of a map when it is first used. */
function readMap(file: string): ShapeMap {
  const known = maps.get(file);
  if (known) return known;
  const text = assetText(file);
  const [, viewBox = ''] = /viewBox="([^"]+)"/.exec(text) ?? [];
  const codes = new Set([...text.matchAll(/ id="([A-Z-]+)"/g)].map(([, code = '']) => code));
  const map = { url: assetUrl(file), viewBox, codes };
  maps.set(file, map);
  return map;
}

/** The regions with data, each in the colour of its first keyword by value, on the shapes of all regions. */
function RegionMap(props: {
  map: ShapeMap;
  regions: readonly Region[];
  keywords: readonly string[];
  unit: string;
}): VNode {
  const { map, regions, keywords, unit } = props;
  return (
    <svg
      class="map"
      viewBox={map.viewBox}
      role="img"
      aria-label={`Map of the interest in ${keywords.join(', ')}. The table below has the same values.`}
    >
      <use href={`${map.url}#land`} />
      {regions.flatMap(({ geoCode, geoName, values }) => {
        if (geoCode === null || !map.codes.has(geoCode)) return [];
        const shares = values.map(({ value }) => value);
        const highest = Math.max(...shares);
        const texts = values.map(({ query, value }) => `${query} ${value}${unit}`);
        return [
          <use
            key={geoCode}
            href={`${map.url}#${geoCode}`}
            class={`series-${shares.indexOf(highest) + 1} level-${levelOf(highest)}`}
          >
            <title>{`${geoName}: ${texts.join(', ')}`}</title>
          </use>,
        ];
      })}
    </svg>
  );
}

/** Returns the shade of a value from 0 to 100. */
function levelOf(value: number): number {
  return Math.max(1, Math.ceil(value / (100 / LEVELS.length)));
}

/** The colours of the keywords, from the lowest to the highest value. */
function Scale({ keywords, unit }: { keywords: readonly string[]; unit: string }): VNode {
  return (
    <ul class="legend">
      {keywords.map((name, i) => (
        <li key={name} class="scale">
          <span>0{unit}</span>
          <svg viewBox="0 0 50 10" aria-hidden="true">
            {LEVELS.map((level) => (
              <rect
                key={level}
                x={(level - 1) * 10}
                width="10"
                height="10"
                class={`series-${i + 1} level-${level}`}
              />
            ))}
          </svg>
          <span>100{unit}</span> {name}
        </li>
      ))}
    </ul>
  );
}
