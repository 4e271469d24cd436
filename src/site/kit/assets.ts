import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { CHART_PATHS } from '../../charts/files.ts';
import { SoukError } from '../../platform/errors.ts';
import { projectFile } from '../../platform/project.ts';

const FOLDER = fileURLToPath(projectFile('src/site/assets'));

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The formula of the profit calculator. */
const SALE = fileURLToPath(projectFile('src/operations/research/sale.js'));

interface Asset {
  bytes: Buffer;
  contentType: string;
  digest: string;
  /** Compressed at the first request: the largest files take a second, on a thread of the pool. */
  compressed: Partial<Record<Encoding, Promise<Buffer>>>;
}

const ENCODINGS = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
};

type Encoding = keyof typeof ENCODINGS;

/** All assets, read once when the process starts. */
const ASSETS = new Map<string, Asset>(
  [...readdirSync(FOLDER).map((name) => join(FOLDER, name)), ...Object.values(CHART_PATHS), SALE]
    .filter((path) => extname(path) in CONTENT_TYPES)
    .map((path) => {
      const bytes = readFileSync(path);
      const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
      return [
        basename(path),
        { bytes, contentType: CONTENT_TYPES[extname(path)] ?? '', digest, compressed: {} },
      ];
    }),
);

/** The address of an asset, which changes with the asset's content. @throws if there is no such asset. */
export function assetUrl(name: string): string {
  return `/assets/${assetOf(name).digest}/${name}`;
}

/** The content of an asset. @throws if there is no such asset. */
export function assetText(name: string): string {
  return assetOf(name).bytes.toString();
}

function assetOf(name: string): Asset {
  const asset = ASSETS.get(name);
  if (!asset) throw new Error(`no asset ${name}`);
  return asset;
}

interface AssetRoute {
  Params: { digest: string; name: string };
}

/** Serves styles, scripts and pictures. Browsers may cache them without end, because changed content has another address. */
export function registerAssets(app: FastifyInstance): void {
  app.get<AssetRoute>('/assets/:digest/:name', async (request, reply) => {
    const asset = ASSETS.get(request.params.name);
    if (!asset) throw new SoukError('NOT_FOUND');
    const accepted = request.headers['accept-encoding'] ?? '';
    reply
      .type(asset.contentType)
      .header('vary', 'accept-encoding')
      .header('x-content-type-options', 'nosniff')
      // A page that was open during an update may request the address of another version: served, but not cached.
      .header(
        'cache-control',
        request.params.digest === asset.digest ? 'public, max-age=31536000, immutable' : 'no-store',
      );
    const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : null;
    if (encoding === null) return reply.send(asset.bytes);
    asset.compressed[encoding] ??= ENCODINGS[encoding](asset.bytes);
    return reply.header('content-encoding', encoding).send(await asset.compressed[encoding]);
  });
}
