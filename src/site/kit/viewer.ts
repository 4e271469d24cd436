import { addressFor } from '../../accounts/account-address.ts';
import type { Mode } from '../../accounts/authentication.ts';
import type { Role } from '../../accounts/members.ts';

/** The viewer of a page, who determines its navigation. */
export type Viewer =
  | { kind: 'visitor' }
  | {
      kind: 'customer';
      email: string;
      /** Whether the person has a role in the installation. */
      hasConsole: boolean;
      /** The account whose pages are shown; null: the page is about the person. */
      account: ShownAccount | null;
    }
  /** Somebody in the console. `email`: null for a program with the operator token. */
  | { kind: 'operator'; email: string | null }
  /** A browser with the cookie of a session, on a page that does not read the session. */
  | { kind: 'returning' };

export interface ShownAccount {
  id: number;
  name: string;
  mode: Mode;
  role: Role;
  /** The viewer is no member, but has a role in the installation. */
  isStaff: boolean;
  /** Other accounts of the person. */
  others: readonly { id: number; name: string }[];
}

export const VISITOR: Viewer = { kind: 'visitor' };

/** The address of the overview of an account, live or test. */
export function accountPath(accountId: number): string {
  return addressFor(accountId, '/account');
}

/** The address of a viewer's overview. */
export function homeOf(viewer: Viewer): string {
  return { visitor: '/', customer: '/account', operator: '/admin' }[kindOf(viewer)];
}

/** The navigation that a viewer has. */
export function kindOf(viewer: Viewer): 'visitor' | 'customer' | 'operator' {
  return viewer.kind === 'returning' ? 'customer' : viewer.kind;
}
