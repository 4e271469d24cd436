import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readUnsubscribeToken, switchOff } from '../../mail/choices.ts';
import { TOPICS } from '../../mail/kinds/content.ts';
import { SoukError } from '../../platform/errors.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';

const PATH = '/unsubscribe';

/**
 * Registers the page behind the link that switches off notices of a topic (RFC 8058). A GET shows a button, because mail
 * programs open links by themselves. A POST needs no form token and no session, because mail providers send it.
 */
export function registerUnsubscribe(scope: FastifyInstance, { database }: Pages): void {
  // Mail providers send a form of either type; the token is in the address.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 4_096 }, (_request, _body, done) => {
    done(null, null);
  });

  scope.get(PATH, async (request, reply) => {
    const { topic, token } = await tokenIn(request);
    return sendPage(
      reply,
      <Page title="Switch off notices" viewer={VISITOR}>
        <div class="card narrow">
          <h1>Switch off notices</h1>
          <p>{TOPICS[topic]}</p>
          <form method="post" action={`${PATH}?token=${token}`}>
            <button type="submit" class="primary">
              Switch off
            </button>
          </form>
        </div>
      </Page>,
    );
  });

  scope.post(PATH, async (request, reply): Promise<FastifyReply> => {
    const { accountId, topic } = await tokenIn(request);
    await switchOff(database, accountId, topic);
    return sendPage(
      reply,
      <Page title="Notices switched off" viewer={VISITOR}>
        <div class="card narrow">
          <h1>Switched off</h1>
          <p role="status">You receive no more mails of this kind: {TOPICS[topic]}.</p>
          <p>
            <a href="/account/settings">Settings</a> switches them on again.
          </p>
        </div>
      </Page>,
    );
  });

  async function tokenIn({ query }: FastifyRequest) {
    const { token } = query as { token?: unknown };
    const read = typeof token === 'string' ? await readUnsubscribeToken(database, token) : null;
    if (read === null) throw new SoukError('NOT_FOUND', { message: 'This link is not valid.' });
    return { ...read, token: token as string };
  }
}
