import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import { isStoreAway } from '../../platform/outage.ts';
import type { Pages } from '../pages.ts';
import { Page, VISITOR } from './layout.tsx';
import { sendPage } from './render.tsx';

/** Sends every error of a page as a page. */
export function registerErrorPages(scope: FastifyInstance, { log, events }: Pages): void {
  scope.setErrorHandler(async (error: FastifyError | SoukError | Error, request, reply) => {
    const { status, title, text, isOurs } = told(error);
    if (isOurs) {
      const place = request.routeOptions.url ?? 'none';
      log.error({ err: error, requestId: request.id, route: place }, 'page failed');
      events.emit({
        type: 'failure',
        code: status === 503 ? 'BUSY' : '5000',
        place,
        requestId: request.id,
        cause: error,
      });
    }
    if (error instanceof SoukError) events.emit({ type: 'request.refused', error: error.kind });
    // A redirect that could not be sent leaves its address behind.
    reply.removeHeader('location');
    if (error instanceof SoukError && error.retryAfterSeconds !== undefined)
      reply.header('retry-after', error.retryAfterSeconds);
    return sendErrorPage(request, reply, { status, title, text });
  });
}

function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, title, text }: { status: number; title: string; text: string },
): FastifyReply {
  return sendPage(
    reply,
    // The frame of a visitor has no forms: an error may have come before their token could be made.
    <Page title={title} viewer={VISITOR}>
      <h1>{title}</h1>
      <p class="lead">{text}</p>
      <p class="row">
        <a class="button primary" href={request.url.startsWith('/admin') ? '/admin' : '/account'}>
          Back to the overview
        </a>
        <small>Request {request.id}</small>
      </p>
    </Page>,
    status,
  );
}

interface Told {
  status: number;
  title: string;
  text: string;
  isOurs: boolean;
}

/** What PostgreSQL says of a NUL, and of half a surrogate pair. */
const NO_TEXT = new Set(['22021', '22P05']);

function told(error: FastifyError | SoukError | Error): Told {
  if (error instanceof SoukError) {
    const { status } = ERRORS[error.kind];
    const titles: Record<number, string> = { 400: 'That cannot be', 404: 'Not found', 413: 'Too large' };
    return {
      status,
      title: titles[status] ?? 'That did not work',
      text: error.message,
      isOurs: error.kind === 'INTERNAL',
    };
  }
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>;
  if (code.startsWith('FST_CSRF')) {
    const text =
      'The form had run out, or came from another site. Go back, reload the page, and send it again.';
    return { status: 403, title: 'Please send it again', text, isOurs: false };
  }
  if (statusCode === 413) {
    const text = 'What was sent is larger than a form may be. Programs may send more: see the documentation.';
    return { status: 413, title: 'Too large', text, isOurs: false };
  }
  // An address may hold characters that PostgreSQL takes for no text.
  if ((statusCode >= 400 && statusCode < 500) || NO_TEXT.has(code))
    return {
      status: statusCode < 500 ? statusCode : 400,
      title: 'That cannot be',
      text: 'The request is not well formed.',
      isOurs: false,
    };
  if (isStoreAway(error)) {
    const text = 'A part of the service cannot be reached just now. Try again in a few seconds.';
    return { status: 503, title: 'Just a moment', text, isOurs: true };
  }
  return { status: 500, title: 'That did not work', text: 'Something is broken on our side.', isOurs: true };
}
