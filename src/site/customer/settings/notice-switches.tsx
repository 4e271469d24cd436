import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { setTopicsOff } from '../../../mail/choices.ts';
import { TOPICS, type Topic } from '../../../mail/kinds/content.ts';
import { PostForm } from '../../kit/form.tsx';
import { readValues } from '../../kit/form-request.ts';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';

const PATH = '/account/settings/notices';

const ALL = Object.keys(TOPICS) as Topic[];

/** Registers the form that switches notices on and off. */
export function registerNoticeSwitches(scope: FastifyInstance, { database }: Pages): void {
  scope.post(PATH, async (request: FastifyRequest, reply: FastifyReply) => {
    const chosen = readValues(request.body);
    const off = ALL.filter((topic) => chosen[topic] !== 'on');
    await setTopicsOff(database, customerOf(request).liveAccountId, off);
    return reply.redirect('/account/settings?saved=1', 303);
  });
}

export function NoticeSwitches({ off }: { off: readonly Topic[] }): VNode {
  return (
    <section class="card">
      <h2>Notices by e-mail</h2>
      <PostForm action={PATH}>
        {ALL.map((topic) => (
          <p key={topic}>
            <label>
              <input type="checkbox" name={topic} checked={!off.includes(topic)} /> {TOPICS[topic]}
            </label>
          </p>
        ))}
        <p class="hint">Mails about the security of your account cannot be switched off.</p>
        <button type="submit">Save</button>
      </PostForm>
    </section>
  );
}
