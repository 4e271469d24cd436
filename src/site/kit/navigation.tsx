import type { VNode } from 'preact';
import { PostButton } from './form.tsx';
import { homeOf, kindOf, type Viewer } from './viewer.ts';

type Link = readonly [href: string, name: string];

/** Links with a common subject. `name`: null for links that need none. */
interface LinkGroup {
  name: string | null;
  links: readonly Link[];
}

const SETTINGS = '/account/settings';

const PROFILE = '/profile';

const VISITOR_GROUPS: readonly LinkGroup[] = [
  {
    name: null,
    links: [
      ['/', 'Overview'],
      ['/pricing', 'Pricing'],
      ['/docs', 'Documentation'],
      ['/sign-in', 'Sign in'],
    ],
  },
];

const CUSTOMER_GROUPS: readonly LinkGroup[] = [
  { name: null, links: [['/account', 'Overview']] },
  {
    name: 'Explore',
    links: [
      ['/explore', 'Products'],
      ['/explore/compare', 'Comparison'],
      ['/explore/keyword', 'Keywords'],
      ['/explore/screener', 'Screener'],
      ['/explore/trends', 'Search trends'],
      ['/explore/finder', 'Finder'],
      ['/account/charts', 'Shared charts'],
      ['/account/try', 'All operations'],
    ],
  },
  {
    name: 'Automate',
    links: [
      ['/account/batches', 'Batches'],
      ['/account/schedules', 'Schedules'],
      ['/account/trackers', 'Trackers'],
      ['/account/webhooks', 'Webhooks'],
      ['/account/jobs', 'Calls'],
    ],
  },
  {
    name: 'Account',
    links: [
      ['/account/keys', 'Keys'],
      ['/account/usage', 'Usage'],
      ['/account/ledger', 'Ledger'],
      ['/account/plans', 'Plans'],
      ['/account/team', 'Team'],
      [SETTINGS, 'Settings'],
    ],
  },
  { name: 'Help', links: [['/docs', 'Documentation']] },
];

const OPERATOR_GROUPS: readonly LinkGroup[] = [
  {
    name: null,
    links: [
      ['/admin', 'Overview'],
      ['/admin/activity', 'Activity'],
    ],
  },
  {
    name: 'Customers',
    links: [
      ['/admin/accounts', 'Accounts'],
      ['/admin/orders', 'Purchases'],
      ['/admin/offers', 'Plans and packs'],
      ['/admin/coupons', 'Coupons'],
      ['/admin/margin', 'Margin'],
      ['/admin/announcements', 'Announcements'],
      ['/admin/incidents', 'Incidents'],
    ],
  },
  {
    name: 'Service',
    links: [
      ['/admin/alerts', 'Alerts'],
      ['/admin/upstream', 'Upstream'],
      ['/admin/queues', 'Queues'],
      ['/admin/reports', 'Reports'],
      ['/admin/storage', 'Storage'],
      ['/admin/errors', 'Errors'],
      ['/admin/mails', 'Mails'],
    ],
  },
  {
    name: 'Installation',
    links: [
      ['/admin/audit', 'Audit log'],
      ['/admin/staff', 'Staff'],
    ],
  },
];

const GROUPS = { visitor: VISITOR_GROUPS, customer: CUSTOMER_GROUPS, operator: OPERATOR_GROUPS };

/** The pages of an account, with the group in which the navigation shows them. */
export const CUSTOMER_PAGES: readonly { href: string; name: string; group: string | null }[] =
  CUSTOMER_GROUPS.flatMap(({ name: group, links }) => links.map(([href, name]) => ({ href, name, group })));

/** The links of a viewer: a side bar, and on a narrow screen the menu of a button. */
export function Navigation({ viewer, path }: { viewer: Viewer; path: string }): VNode {
  const kind = kindOf(viewer);
  const groups = GROUPS[kind];
  const here = groups
    .flatMap(({ links }) => links.map(([href]) => href))
    .filter((href) => path === href || (href !== homeOf(viewer) && path.startsWith(`${href}/`)))
    .sort((a, b) => b.length - a.length)[0];
  return (
    <>
      {kind !== 'visitor' && (
        <button type="button" class="quiet menu-button" popovertarget="main-nav">
          Menu
        </button>
      )}
      <nav class="main-nav" id="main-nav" aria-label="Main" popover={kind === 'visitor' ? undefined : 'auto'}>
        {groups.map(({ name, links }) => (
          <Links key={name ?? ''} name={name} links={links} here={here} />
        ))}
        {viewer.kind === 'customer' && (
          <div class="only-menu">
            <Links name="You" links={[[PROFILE, 'Profile'], ...elsewhereOf(viewer)]} here={path} />
          </div>
        )}
      </nav>
      {kind === 'customer' && <SearchBox />}
    </>
  );
}

function Links({ name, links, here }: LinkGroup & { here: string | undefined }): VNode {
  return (
    <>
      {name !== null && <p class="nav-group">{name}</p>}
      <ul aria-label={name ?? undefined}>
        {links.map(([href, text]) => (
          <li key={href}>
            <a href={href} aria-current={href === here ? 'page' : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

export const SEARCH_PATH = '/account/search';

export const LONGEST_SEARCH = 500;

/** Finds a product, a keyword, a call, or a page. The keys `/` and Ctrl-K lead to it. */
function SearchBox(): VNode {
  return (
    <search class="search-box">
      <form action={SEARCH_PATH}>
        <input
          type="search"
          name="q"
          aria-label="Search"
          aria-keyshortcuts="/ Control+K"
          placeholder="ASIN, keyword, page … ( / )"
          maxLength={LONGEST_SEARCH}
          data-search-box
        />
      </form>
    </search>
  );
}

/** The account of the page, the person, and the ways to the other accounts and out. */
export function Session({ viewer, path }: { viewer: Viewer; path: string }): VNode {
  if (viewer.kind === 'visitor') {
    return (
      <div class="session">
        <a class="button primary" href="/sign-up">
          Sign up
        </a>
      </div>
    );
  }
  if (viewer.kind === 'returning') return <div class="session" />;
  return (
    <div class="session">
      {viewer.kind === 'customer' && <Accounts viewer={viewer} path={path} />}
      {viewer.email !== null && (
        <a class="who" href={PROFILE} aria-current={path.startsWith(PROFILE) ? 'page' : undefined}>
          {viewer.email}
        </a>
      )}
      {viewer.email !== null && (
        <PostButton action="/sign-out" class="quiet">
          Sign out
        </PostButton>
      )}
    </div>
  );
}

/** The account of the page with its settings, and the way to the others and to the console. */
function Accounts({ viewer, path }: { viewer: Extract<Viewer, { kind: 'customer' }>; path: string }): VNode {
  const { account } = viewer;
  const elsewhere = elsewhereOf(viewer);
  return (
    <>
      {account && (
        <a class="who" href={SETTINGS} aria-current={path.startsWith(SETTINGS) ? 'page' : undefined}>
          {account.name}
        </a>
      )}
      {elsewhere.length > 0 && (
        <details class="switch">
          <summary>Switch</summary>
          <ul>
            {elsewhere.map(([href, name]) => (
              <li key={href}>
                <a href={href}>{name}</a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** The other accounts of the person, and the console. */
function elsewhereOf({ account, hasConsole }: Extract<Viewer, { kind: 'customer' }>): Link[] {
  const others = (account?.others ?? []).map(({ id, name }) => [`/account/${id}`, name] as const);
  return hasConsole ? [...others, ['/admin', 'Console'] as const] : others;
}
