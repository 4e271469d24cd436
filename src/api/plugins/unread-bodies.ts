import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../platform/clock.ts';
import { BODY_LIMIT_BYTES } from './body-parsing.ts';

/** How long a connection stays half open, so that the client receives the answer before the connection is reset. */
const LINGER_MS = 1_000;

/**
 * Closes the connection of a large body that is answered before it has arrived, such as a refused upload. Node.js would read
 * the body to its end.
 */
export function leaveBodiesUnread(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (isLeftUnread(raw)) {
      reply.header('connection', 'close');
      closeUnread(raw, clock);
    }
    done();
  });
}

/** Returns whether the rest of a body is not read when its request is answered now. */
export function isLeftUnread({ complete, headers, socket }: IncomingMessage): boolean {
  if (complete || !(socket instanceof Socket)) return false;
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES
  );
}

function closeUnread(raw: IncomingMessage, clock: Clock): void {
  const { socket } = raw;
  // Node.js reads a body that has no reader to its end. This reader takes what has arrived, and does not continue.
  raw.pause();
  raw.read();
  // Closing at once would reset the connection, and a client that is sending would not receive the answer.
  socket.destroySoon = () => {
    socket.end();
    const cancel = clock.after(LINGER_MS, () => socket.destroy(), 'unread body');
    socket.once('close', cancel);
  };
}
