import { once } from 'node:events';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { expect, test } from 'vitest';
import { atEnd, registerRequestEnd } from '../../../src/api/plugins/requests.ts';

test('a callback of a request runs once at its end, and a later one immediately', async () => {
  const app = fastify();
  registerRequestEnd(app);
  const ended: string[] = [];
  let answered: [FastifyRequest, FastifyReply] | undefined;
  app.get('/', async (request, reply) => {
    atEnd(request, () => ended.push('first'));
    atEnd(request, () => ended.push('second'));
    answered = [request, reply];
    return reply.send('answer');
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    await (await fetch(address)).text();
    const [request, { raw }] = answered as unknown as [FastifyRequest, FastifyReply];
    if (!raw.destroyed) await once(raw, 'close');
    expect(ended).toEqual(['first', 'second']);
    raw.emit('close');
    atEnd(request, () => ended.push('late'));
    expect(ended).toEqual(['first', 'second', 'late']);
  } finally {
    await app.close();
  }
});
