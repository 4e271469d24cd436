import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type GeoPath, type GeoPermissibleObjects, geoNaturalEarth1, geoPath } from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { US_STATES } from '../demo/trends/regions.ts';

type Atlas<Name extends string> = Topology<Record<Name, GeometryCollection<{ name: string }>>>;
type Shape = GeoPermissibleObjects & {
  id?: string | number | undefined;
  properties: { name: string } | null;
};

/** Width of the maps in SVG units, and the radius of a country that is too small to have a shape. */
const WIDTH = 960;
const DOT_RADIUS = 2.5;

/** The atlas has no number for Kosovo. */
const KOSOVO = 'XK';

/** Returns the maps of the pages by file: SVG whose shapes have the codes of the trends site as ids. */
export function maps(): Record<string, string> {
  return { 'map-world.svg': world(), 'map-us.svg': unitedStates() };
}

/** The countries without Antarctica. Countries that the coarse atlas omits are drawn as dots, and only on maps that use them. */
function world(): string {
  const isLand = (one: Shape) => codeOfCountry(one) !== 'AQ';
  const coarse = shapesOf(atlas<'countries'>('world-atlas/countries-110m.json'), 'countries').filter(isLand);
  const fine = shapesOf(atlas<'countries'>('world-atlas/countries-50m.json'), 'countries').filter(isLand);
  const projection = geoNaturalEarth1().fitWidth(WIDTH, collection(coarse));
  const path = geoPath(projection).digits(1);
  const drawn = new Set(coarse.map(codeOfCountry));
  const dots = fine.flatMap((one) => {
    const code = codeOfCountry(one);
    if (code === null || drawn.has(code)) return [];
    drawn.add(code);
    const [x, y] = path.centroid(one);
    return [`<circle id="${code}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${DOT_RADIUS}"/>`];
  });
  return drawing('The world', { path, shapes: coarse, codeOf: codeOfCountry, dots });
}

/** The states. The atlas has them projected already. */
function unitedStates(): string {
  const codes = new Map(Object.entries(US_STATES).map(([code, name]) => [name, `US-${code}`]));
  const states = shapesOf(atlas<'states'>('us-atlas/states-albers-10m.json'), 'states');
  return drawing('The United States', {
    path: geoPath().digits(0),
    shapes: states,
    codeOf: ({ properties }) => codes.get(properties?.name ?? '') ?? null,
  });
}

/** Returns ISO 3166-1 alpha-2, of which the atlas has the numbers. */
function codeOfCountry({ id, properties }: Shape): string | null {
  if (id === undefined) return properties?.name === 'Kosovo' ? KOSOVO : null;
  const [canonical = ''] = Intl.getCanonicalLocales(`und-${String(id).padStart(3, '0')}`);
  return /^und-([A-Z]{2})$/.exec(canonical)?.[1] ?? null;
}

interface MapParts {
  path: GeoPath;
  shapes: readonly Shape[];
  codeOf(shape: Shape): string | null;
  dots?: readonly string[];
}

function drawing(title: string, { path, shapes, codeOf, dots = [] }: MapParts): string {
  const [[left, top], [right, bottom]] = path.bounds(collection(shapes));
  const [x, y] = [Math.floor(left), Math.floor(top)];
  const paths = shapes.flatMap((one) => {
    const code = codeOf(one);
    const d = path(one);
    return d === null ? [] : [`<path${code === null ? '' : ` id="${code}"`} d="${d}"/>`];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${x} ${y} ${Math.ceil(right) - x} ${Math.ceil(bottom) - y}">`,
    `<title>${title}</title>`,
    '<g id="land">',
    ...paths,
    '</g>',
    ...dots,
    '</svg>',
    '',
  ].join('\n');
}

function collection(shapes: readonly Shape[]): GeoPermissibleObjects {
  return {
    type: 'GeometryCollection',
    geometries: shapes.map((one) => ('geometry' in one ? one.geometry : one)),
  } as GeoPermissibleObjects;
}

function shapesOf<Name extends string>(topology: Atlas<Name>, name: Name): Shape[] {
  return feature(topology, topology.objects[name]).features;
}

function atlas<Name extends string>(file: string): Atlas<Name> {
  return JSON.parse(readFileSync(createRequire(import.meta.url).resolve(file), 'utf8')) as Atlas<Name>;
}
