import type { FastifyInstance } from 'fastify';
import { LEAF_COUNT } from '../catalog/categories.ts';
import { readPictureName } from '../catalog/picture-names.ts';
import { drawingOf } from './drawing.ts';

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
