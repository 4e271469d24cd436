import { randomUUID } from 'node:crypto';
import sharp from 'sharp';
import { SoukError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/log.ts';

/** Keeps all colours: charts have far fewer than 256, and customers choose some of them. */
const LOSSLESS_PALETTE = { palette: true, colours: 256, quality: 100, effort: 7, dither: 0 } as const;

/**
 * Checks that a picture is a complete PNG of the requested size, and re-encodes it with a palette if that is
 * smaller. Charts have few colours, so it usually is much smaller.
 * @throws SoukError UPSTREAM_ERROR for any other picture.
 */
export async function checkedPng(
  picture: Buffer,
  size: { width: number; height: number },
  log: Logger,
): Promise<Buffer> {
  const fault = await faultOf(picture, size);
  if (fault) {
    const errorId = randomUUID();
    log.warn({ errorId, fault }, 'the data provider sent a bad picture');
    throw new SoukError('UPSTREAM_ERROR', { metadata: { errorId }, cause: fault });
  }
  const smaller = await sharp(picture).png(LOSSLESS_PALETTE).toBuffer();
  return smaller.length < picture.length ? smaller : picture;
}

async function faultOf(
  picture: Buffer,
  { width, height }: { width: number; height: number },
): Promise<string | null> {
  try {
    const image = sharp(picture, { failOn: 'error', limitInputPixels: 4_000_000 });
    const found = await image.metadata();
    if (found.format !== 'png') return `format ${found.format}`;
    if (found.width !== width || found.height !== height) {
      return `size ${found.width}x${found.height} instead of ${width}x${height}`;
    }
    // Only decoding every pixel shows that the file is complete.
    await image.stats();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
