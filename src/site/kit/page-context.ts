import { createContext } from 'preact';
import type { Viewer } from './layout.tsx';

/** What the components of a page know of the request that asks for it. */
export interface PageContext {
  viewer: Viewer;
  /** Without its query. */
  path: string;
  /** The token without which a form is refused. All forms of a page carry the same one. */
  formToken(): string;
}

/** The default is that of pages that are rendered once for everybody: they have no forms. */
export const CurrentPage = createContext<PageContext>({
  viewer: { kind: 'visitor' },
  path: '',
  formToken() {
    throw new Error('a form on a page that is the same for everybody');
  },
});
