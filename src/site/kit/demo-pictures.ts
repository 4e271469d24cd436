import type { FastifyInstance } from 'fastify';
import { SoukError } from '../../platform/errors.ts';

const TIMEOUT_MS = 5_000;

/** A picture of the demo provider is a few kilobytes. */
const MOST_CHARACTERS = 100_000;

interface PictureRoute {
  Params: { name: string };
}

/**
 * Serves the pictures of the demo provider at the address of this installation, since browsers on other machines cannot reach
 * the provider. Only names of pictures are passed on, to one address.
 */
export function registerDemoPictures(app: FastifyInstance, providerUrl: string): void {
  app.get<PictureRoute>('/images/I/:name', async ({ params: { name } }, reply) => {
    if (!/^\w{1,40}\.svg$/.test(name)) throw new SoukError('NOT_FOUND');
    const picture = await fetchPicture(`${providerUrl}/images/I/${name}`);
    if (picture === null) throw new SoukError('NOT_FOUND');
    return reply
      .type('image/svg+xml')
      .header('cache-control', 'public, max-age=86400')
      .header('x-content-type-options', 'nosniff')
      .header('content-security-policy', "default-src 'none'; sandbox")
      .send(picture);
  });
}

/** Returns the text of a picture; null if the provider has none at this address. */
async function fetchPicture(url: string): Promise<string | null> {
  try {
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await answer.text();
    const isPicture = answer.ok && answer.headers.get('content-type')?.startsWith('image/svg+xml');
    return isPicture && text.length <= MOST_CHARACTERS ? text : null;
  } catch {
    return null;
  }
}
