import { randomUUID } from 'node:crypto';
import sharp from 'sharp';
import { SoukError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/log.ts';

/** Keeps all colours: charts have far fewer than 256, and customers choose some of them. */
const LOSSLESS_PALETTE = { palette: true, colours: 256, quality: 100, effort: 7, dither: 0 } as const;

/**
 * Checks that a picture is a complete PNG, resizes it if upstream did not keep to the requested size, and re-encodes it
 * with a palette if that is smaller. Charts have few colours, so it usually is much smaller.
 * @throws SoukError UPSTREAM_ERROR for any other picture.
 */
export async function checkedPng(
  picture: Buffer,
  size: { width: number; height: number },
  log: Logger,
): Promise<Buffer> {
  const { fault, isOfSize } = await examine(picture, size);
  if (fault) {
    const errorId = randomUUID();
    log.warn({ errorId, fault }, 'the data provider sent a bad picture');
    throw new SoukError('UPSTREAM_ERROR', { metadata: { errorId }, cause: fault });
  }
  const image = sharp(picture);
  if (!isOfSize) image.resize({ ...size, fit: 'fill' });
  const encoded = await image.png(LOSSLESS_PALETTE).toBuffer();
  return !isOfSize || encoded.length < picture.length ? encoded : picture;
}

async function examine(
  picture: Buffer,
  { width, height }: { width: number; height: number },
): Promise<{ fault: string | null; isOfSize: boolean }> {
  try {
    const image = sharp(picture, { failOn: 'error', limitInputPixels: 4_000_000 });
    const found = await image.metadata();
    const isOfSize = found.width === width && found.height === height;
    if (found.format !== 'png') return { fault: `format ${found.format}`, isOfSize };
    // Only decoding every pixel shows that the file is complete.
    await image.stats();
    return { fault: null, isOfSize };
  } catch (error) {
    return { fault: (error as Error).message, isOfSize: false };
  }
}
