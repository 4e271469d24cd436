import forms from '@fastify/formbody';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { registerCookies } from '../../api/plugins/cookies.ts';
import { type Announcement, shownAt } from '../../operator/announcements.ts';
import type { Pages } from '../pages.ts';
import { digits } from './form-request.ts';
import type { OfferedBy } from './page-context.ts';
import type { Viewer } from './viewer.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The announcements that a page shows to a viewer. */
    announcementsFor(request: FastifyRequest, viewer: Viewer): Announcement[];
    offeredBy: OfferedBy;
  }
}

/** The cookie of a browser that has dismissed announcements: their numbers, and nothing about the visitor. */
const COOKIE = 'souk_dismissed';
const COOKIE_SECONDS = 90 * 86_400;

/** The most numbers in the cookie, the newest. */
const MAX_DISMISSED = 20;

const params = z.object({ id: digits() });

/** Lets every page show announcements, and registers the form that dismisses one. It needs neither scripts nor a session. */
export function registerAnnouncements(
  app: FastifyInstance,
  { announcements, clock, publicUrl }: Pages,
): void {
  app.decorate('announcementsFor', (request, viewer) => {
    const { value } = announcements.current();
    if (value.length === 0) return [];
    const isSignedIn = viewer.kind !== 'visitor';
    return shownAt(value, clock.now(), { isSignedIn, dismissed: new Set(dismissedIn(request)) });
  });
  app.register(async (scope) => {
    await registerCookies(scope, publicUrl);
    scope.removeAllContentTypeParsers();
    await scope.register(forms, { bodyLimit: 1_024 });
    scope.post('/announcements/:id/dismiss', async (request, reply) => {
      const parsed = params.safeParse(request.params);
      const ids = [...dismissedIn(request), ...(parsed.success ? [parsed.data.id] : [])];
      const value = [...new Set(ids)].slice(-MAX_DISMISSED).join('.');
      reply.setCookie(COOKIE, value, { path: '/', httpOnly: true, sameSite: 'lax', maxAge: COOKIE_SECONDS });
      return reply.redirect(pageBefore(request), 303);
    });
  });
}

/** The announcements at the top of a page. */
export function Announcements({ shown }: { shown: readonly Announcement[] }): VNode | null {
  if (shown.length === 0) return null;
  return (
    <section class="announcements" aria-label="Announcements">
      {shown.map(({ id, text, link, level }) => (
        <div key={id} class={`announcement ${level}`}>
          <p>
            {level === 'warning' && <strong>Warning: </strong>}
            {text} {link && <a href={link}>More information</a>}
          </p>
          <form method="post" action={`/announcements/${id}/dismiss`}>
            <button type="submit" class="small" aria-label={`Dismiss: ${text}`}>
              Dismiss
            </button>
          </form>
        </div>
      ))}
    </section>
  );
}

function dismissedIn({ headers: { cookie = '' } }: FastifyRequest): number[] {
  const [, value = ''] = /(?:^|;\s*)(?:__Host-)?souk_dismissed=([\d.]*)/.exec(cookie) ?? [];
  return value.split('.').filter(Boolean).slice(-MAX_DISMISSED).map(Number);
}

/** The page from which a form was sent, if it is one of this host. */
function pageBefore({ headers: { referer = '' }, host }: FastifyRequest): string {
  if (!URL.canParse(referer)) return '/';
  const { host: of, pathname, search } = new URL(referer);
  return of === host && !pathname.startsWith('//') ? `${pathname}${search}` : '/';
}
