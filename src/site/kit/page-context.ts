import { createContext } from 'preact';
import type { Announcement } from '../../operator/announcements.ts';
import type { Viewer } from './viewer.ts';

/** Who offers the service, for the foot of all pages. */
export interface OfferedBy {
  name: string | null;
  links: readonly { name: string; address: string }[];
}

/** Facts about the request, for the components of a page. */
export interface PageContext {
  viewer: Viewer;
  /** Without its query. */
  path: string;
  /** The announcements that the page shows. */
  announcements: readonly Announcement[];
  offeredBy: OfferedBy;
  /** Returns the token that a form must have. All forms of a page have the same token. */
  formToken(): string;
}

/** The facts of pages that are rendered once for all readers and have no forms. */
export const STATIC_PAGE: PageContext = {
  viewer: { kind: 'visitor' },
  path: '',
  announcements: [],
  offeredBy: { name: null, links: [] },
  formToken() {
    throw new Error('a page that is rendered once for all readers cannot have a form');
  },
};

export const CurrentPage = createContext(STATIC_PAGE);
