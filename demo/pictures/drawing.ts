import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { projectFile } from '../../src/platform/project.ts';
import { LEAF_COUNT, leafAt } from '../catalog/categories.ts';

/** What a picture shows. */
export interface Pictured {
  /** Index of the leaf. */
  leaf: number;
  /** Index of the colour or other look. */
  look: number;
  /** Seeds of the family's and of the product's details. */
  seed: number;
  variant: number;
}

const NAME = /^4([0-9A-Z]{2})([0-9A-Z])([0-9A-Z]{3})([0-9A-Z]{2})([LM])\.svg$/;

/** Returns the file name of a picture, which says all about it. The name of its smaller version ends with M. */
export function pictureName({ leaf, look, seed, variant }: Pictured): string {
  return `4${base36(leaf, 2)}${base36(look, 1)}${base36(seed, 3)}${base36(variant, 2)}L.svg`;
}

/** Reads a file name; null for one that is not of this form. */
export function readPictureName(name: string): (Pictured & { sizePixels: number }) | null {
  const [, leaf, look, seed, variant, size] = NAME.exec(name) ?? [];
  if (size === undefined) return null;
  const [leafNumber = 0, lookNumber = 0, seedNumber = 0, variantNumber = 0] = [leaf, look, seed, variant].map(
    (digits) => Number.parseInt(digits ?? '', 36),
  );
  return {
    leaf: leafNumber,
    look: lookNumber,
    seed: seedNumber,
    variant: variantNumber,
    sizePixels: size === 'L' ? 1500 : 500,
  };
}

function base36(value: number, digits: number): string {
  return (value % 36 ** digits).toString(36).toUpperCase().padStart(digits, '0');
}

/** SVG of each drawing on a square of 100, whose colours are letters: C main, D darker, L lighter, K nearly black, W white. */
const DRAWINGS = new Map(
  readFileSync(projectFile('demo/pictures/drawings.txt'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): [string, string] => {
      const end = line.indexOf(': ');
      return [line.slice(0, end), line.slice(end + 2)];
    }),
);

/** Colours by name, as in the names of the products: hue, saturation and lightness. */
const COLOURS: Record<string, readonly [number, number, number]> = {
  Black: [225, 8, 22],
  White: [40, 12, 90],
  Blue: [214, 62, 45],
  Red: [2, 66, 46],
  Green: [145, 38, 36],
  Grey: [215, 6, 52],
  Beige: [36, 36, 72],
  Pink: [340, 62, 74],
  Silver: [210, 10, 74],
};

/** Draws a product on white, as shops show it. The same name always gives the same picture. */
function drawingOf({ leaf, look, seed, variant }: Pictured, sizePixels: number): string {
  const { picture, looks } = leafAt(leaf);
  const [hue, saturation, light] = COLOURS[looks.values[look] ?? ''] ?? [(seed * 47) % 360, 45, 48];
  const colour = (lightness: number) => `hsl(${hue} ${saturation}% ${Math.min(96, Math.max(6, lightness))}%)`;
  const palette: Record<string, string> = {
    C: colour(light),
    D: colour(light - 14),
    L: colour(light + 24),
    K: '#23262d',
    W: '#fbfaf7',
  };
  const body = (DRAWINGS.get(picture) ?? '').replaceAll(
    /(fill|stroke)="([CDLKW])"/g,
    (_, name: string, letter: string) => `${name}="${palette[letter]}"`,
  );
  const angle = (variant % 7) - 3;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${sizePixels}" height="${sizePixels}" viewBox="0 0 120 120">`,
    '<defs><radialGradient id="s"><stop stop-color="#000" stop-opacity=".22"/><stop offset="1" stop-color="#000" stop-opacity="0"/></radialGradient></defs>',
    '<rect width="120" height="120" fill="#fff"/><ellipse cx="60" cy="103" rx="44" ry="7" fill="url(#s)"/>',
    `<g transform="translate(10 10) rotate(${angle} 50 50)">${body}</g></svg>`,
  ].join('');
}

/** Returns whether a leaf has a drawing. */
export function hasDrawing(picture: string): boolean {
  return DRAWINGS.has(picture);
}

/** Serves the pictures of the invented products, in the demo provider and in gateways. Pages of other sites may show them, too. */
export async function pictureRoutes(app: FastifyInstance): Promise<void> {
  app.get<{ Params: { name: string } }>('/images/I/:name', (request, reply) => {
    const pictured = readPictureName(request.params.name);
    if (pictured === null || pictured.leaf >= LEAF_COUNT)
      return reply.code(404).type('text/plain').send('There is no picture of this name.');
    return reply
      .type('image/svg+xml')
      .header('cache-control', 'public, max-age=86400')
      .header('x-content-type-options', 'nosniff')
      .header('content-security-policy', "default-src 'none'; sandbox")
      .send(drawingOf(pictured, pictured.sizePixels));
  });
}
