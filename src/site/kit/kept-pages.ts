import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { sendVersion, type Version, versionOf } from '../../api/version.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import type { Viewer } from './layout.tsx';
import { keptHtml } from './render.tsx';

/** Sends a page without forms that is the same for all readers of a kind. */
export type SendKeptPage = (
  reply: FastifyReply,
  about: {
    /** Everything else that the page depends on. */
    key: string;
    viewer: Viewer;
    page(): VNode;
  },
) => FastifyReply;

/** The most pages that are kept. One takes about 50 KB. */
const MAX_KEPT = 100;

/** Keeps rendered pages with their compressed form, so that a visitor costs no rendering. */
export function createKeptPages(): SendKeptPage {
  const kept = recentlyUsed<string, Version>(MAX_KEPT);
  return (reply, { key, viewer, page }) => {
    const { request, server } = reply;
    const announcements = server.announcementsFor(request, viewer);
    const name = JSON.stringify([viewer.kind, announcements.map(({ id }) => id), key]);
    const version =
      kept.get(name) ?? versionOf(keptHtml(page(), { viewer, announcements }), 'text/html; charset=utf-8');
    kept.set(name, version);
    return sendVersion(request, reply, version);
  };
}
