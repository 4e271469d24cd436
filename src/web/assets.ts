import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { SoukError } from '../errors.ts';

const FOLDER = fileURLToPath(new URL('assets', import.meta.url));

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface Asset {
  bytes: Buffer;
  brotli: Buffer;
  gzip: Buffer;
  contentType: string;
  digest: string;
}

/** Read once, when the process starts. */
const ASSETS = new Map<string, Asset>(
  readdirSync(FOLDER)
    .filter((name) => extname(name) in CONTENT_TYPES)
    .map((name) => {
      const bytes = readFileSync(join(FOLDER, name));
      const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
      const contentType = CONTENT_TYPES[extname(name)] ?? '';
      return [name, { bytes, brotli: brotliCompressSync(bytes), gzip: gzipSync(bytes), contentType, digest }];
    }),
);

/** The address of a file of `src/web/assets/`, which changes with its content. @throws when there is none. */
export function assetUrl(name: string): string {
  const asset = ASSETS.get(name);
  if (!asset) throw new Error(`no asset ${name}`);
  return `/assets/${asset.digest}/${name}`;
}

/** Serves styles, scripts and pictures of the pages, for ever: another content has another address. */
export function registerAssets(app: FastifyInstance): void {
  app.get<{ Params: { digest: string; name: string } }>('/assets/:digest/:name', async (request, reply) => {
    const asset = ASSETS.get(request.params.name);
    if (!asset) throw new SoukError('NOT_FOUND');
    const accepted = request.headers['accept-encoding'] ?? '';
    reply
      .type(asset.contentType)
      .header('vary', 'accept-encoding')
      .header('x-content-type-options', 'nosniff')
      // An address of another version, from a page that was open during an update, is answered, but not kept.
      .header(
        'cache-control',
        request.params.digest === asset.digest ? 'public, max-age=31536000, immutable' : 'no-store',
      );
    if (/\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(asset.brotli);
    if (/\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(asset.gzip);
    return reply.send(asset.bytes);
  });
}
