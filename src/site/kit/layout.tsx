import type { ComponentChildren, VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { addressFor } from '../../accounts/account-address.ts';
import { liveAccountOf, type Mode } from '../../accounts/authentication.ts';
import { isAble, ROLE_TEXTS, type Role } from '../../accounts/members.ts';
import { Announcements } from './announcements.tsx';
import { assetUrl } from './assets.ts';
import { PostButton } from './form.tsx';
import { CurrentPage } from './page-context.ts';

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

interface ShownAccount {
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

interface PageProps {
  title: string;
  /** Default: the title; null: the page has a heading of its own. */
  heading?: ComponentChildren;
  /** The link above the heading. */
  back?: readonly [href: string, text: string];
  /** Default: the viewer of the request. */
  viewer?: Viewer;
  /** The path that the navigation marks as current. Default: the path of the request. */
  path?: string;
  /** Names of scripts in `src/site/assets/`, loaded after the page. */
  scripts?: readonly string[];
  /** Names of classic scripts, loaded before the modules. */
  libraries?: readonly string[];
  /** Names of further style sheets there. */
  styles?: readonly string[];
  /** Uses the full width, for charts and tables. */
  wide?: boolean;
  /** Leaves out the navigation: the page asks for a decision, after which the browser returns to another site. */
  isDecision?: boolean;
  children: ComponentChildren;
}

const VISITOR_LINKS = [
  ['/', 'Overview'],
  ['/docs', 'Documentation'],
  ['/sign-in', 'Sign in'],
] as const;

const CUSTOMER_LINKS = [
  ['/account', 'Overview'],
  ['/explore', 'Explore'],
  ['/account/try', 'Try it'],
  ['/account/plans', 'Plans'],
  ['/account/keys', 'Keys'],
  ['/account/usage', 'Usage'],
  ['/account/ledger', 'Ledger'],
  ['/account/jobs', 'Jobs'],
  ['/account/batches', 'Batches'],
  ['/account/schedules', 'Schedules'],
  ['/account/trackers', 'Trackers'],
  ['/account/webhooks', 'Webhooks'],
  ['/account/team', 'Team'],
  ['/docs', 'Documentation'],
] as const;

const OPERATOR_LINKS = [
  ['/admin', 'Overview'],
  ['/admin/accounts', 'Accounts'],
  ['/admin/orders', 'Purchases'],
  ['/admin/offers', 'Plans and packs'],
  ['/admin/upstream', 'Upstream'],
  ['/admin/announcements', 'Announcements'],
  ['/admin/incidents', 'Incidents'],
  ['/admin/audit', 'Audit log'],
  ['/admin/storage', 'Storage'],
  ['/admin/errors', 'Errors'],
  ['/admin/mails', 'Mails'],
  ['/admin/reports', 'Reports'],
  ['/admin/queues', 'Queues'],
  ['/admin/staff', 'Staff'],
] as const;

const LINKS = { visitor: VISITOR_LINKS, customer: CUSTOMER_LINKS, operator: OPERATOR_LINKS };

/** The frame of every page: head, navigation and `main`. */
export function Page(props: PageProps): VNode {
  const page = useContext(CurrentPage);
  const { title, viewer = page.viewer, path = page.path } = props;
  const { heading = title, back, scripts = [], libraries = [], styles = [], wide = false } = props;
  const { isDecision = false, children } = props;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Souk`}</title>
        <link rel="icon" href={assetUrl('souk.svg')} type="image/svg+xml" />
        {['souk.css', ...styles, ...(isOfStaff(viewer) ? ['operator.css'] : [])].map((name) => (
          <link key={name} rel="stylesheet" href={assetUrl(name)} />
        ))}
        {libraries.map((name) => (
          <script key={name} src={assetUrl(name)} defer />
        ))}
        {['souk.js', ...scripts].map((name) => (
          <script key={name} src={assetUrl(name)} type="module" />
        ))}
      </head>
      <body class={kindOf(viewer)}>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href={homeOf(viewer)}>
            <img src={assetUrl('souk.svg')} alt="" width="28" height="28" />
            Souk
            {kindOf(viewer) === 'operator' && <span class="tag">Operator</span>}
          </a>
          {!isDecision && <Navigation viewer={viewer} path={path} />}
          {!isDecision && <Session viewer={viewer} path={path} />}
        </header>
        {viewer.kind === 'customer' && viewer.account?.isStaff && <StaffBanner account={viewer.account} />}
        <Announcements shown={page.announcements} />
        {viewer.kind === 'customer' && viewer.account && <RoleBanner account={viewer.account} />}
        {viewer.kind === 'customer' && viewer.account?.mode === 'test' && (
          <TestModeBanner account={viewer.account} />
        )}
        <main id="main" class={wide ? 'wide' : ''} tabIndex={-1}>
          {back && (
            <p>
              <a href={back[0]}>{back[1]}</a>
            </p>
          )}
          {heading !== null && <h1>{heading}</h1>}
          {children}
        </main>
        <footer class="bottom">
          <span>Souk, marketplace data</span>
          <nav aria-label="More">
            <a href="/docs">Documentation</a>
            <a href="/docs/api">API reference</a>
            <a href="/openapi.json">OpenAPI</a>
            <a href="/status">Status</a>
          </nav>
        </footer>
      </body>
    </html>
  );
}

/** A page with one narrow card, for visitors. */
export function NarrowPage(
  props: { heading?: string } & Pick<PageProps, 'title' | 'isDecision' | 'children'>,
): VNode {
  const { title, heading = title, isDecision, children } = props;
  return (
    <Page title={title} heading={null} viewer={VISITOR} {...(isDecision ? { isDecision } : {})}>
      <div class="card narrow">
        <h1>{heading}</h1>
        {children}
      </div>
    </Page>
  );
}

/** The links of a viewer. On a narrow screen the button Menu shows them. */
function Navigation({ viewer, path }: { viewer: Viewer; path: string }): VNode {
  const kind = kindOf(viewer);
  const links: readonly (readonly [href: string, name: string])[] = LINKS[kind];
  const here = links
    .map(([href]) => href)
    .filter((href) => path === href || (href !== homeOf(viewer) && path.startsWith(`${href}/`)))
    .sort((a, b) => b.length - a.length)[0];
  const isPerson = viewer.kind === 'customer';
  return (
    <>
      {kind !== 'visitor' && (
        <button type="button" class="quiet menu-button" popovertarget="main-nav">
          Menu
        </button>
      )}
      <nav class="main-nav" id="main-nav" aria-label="Main" popover={kind === 'visitor' ? undefined : 'auto'}>
        <ul>
          {links.map(([href, name]) => (
            <li key={href}>
              <a href={href} aria-current={href === here ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
          {isPerson &&
            elsewhereOf(viewer).map(([href, name]) => <OnlyMenu href={href} name={name} path={path} />)}
          {isPerson && <OnlyMenu href={SETTINGS} name="Settings" path={path} />}
          {isPerson && <OnlyMenu href={PROFILE} name="Profile" path={path} />}
        </ul>
      </nav>
    </>
  );
}

/** An entry that a wide window shows elsewhere. */
function OnlyMenu({ href, name, path }: { href: string; name: string; path: string }): VNode {
  return (
    <li class="only-menu">
      <a href={href} aria-current={path.startsWith(href) ? 'page' : undefined}>
        {name}
      </a>
    </li>
  );
}

const SETTINGS = '/account/settings';

const PROFILE = '/profile';

function Session({ viewer, path }: { viewer: Viewer; path: string }): VNode {
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
function elsewhereOf({ account, hasConsole }: Extract<Viewer, { kind: 'customer' }>) {
  const others = (account?.others ?? []).map(({ id, name }) => [`/account/${id}`, name] as const);
  return hasConsole ? [...others, ['/admin', 'Console'] as const] : others;
}

function isOfStaff(viewer: Viewer): boolean {
  return viewer.kind === 'operator' || (viewer.kind === 'customer' && viewer.account?.isStaff === true);
}

/** Tells somebody of the installation that these are the pages of a customer. */
function StaffBanner({ account }: { account: ShownAccount }): VNode {
  return (
    <aside class="banner" aria-label="Operator view">
      <p>
        You are viewing the pages of <strong>{account.name}</strong> for the operator. Changes are not allowed
        here.
      </p>
      <a class="button small" href={`/admin/accounts/${liveAccountOf(account.id)}`}>
        Back to the console
      </a>
    </aside>
  );
}

/** Tells a member what the role does not allow on most pages. */
function RoleBanner({ account: { role, isStaff } }: { account: ShownAccount }): VNode | null {
  if (isStaff || isAble(role, 'work')) return null;
  const [name, may] = ROLE_TEXTS[role];
  return (
    <aside class="banner" aria-label="Your role">
      <p>
        Your role in this account is <strong>{name.toLowerCase()}</strong>: {may}. Other changes are refused.
      </p>
    </aside>
  );
}

/** Tells the customer that the pages show the test account. */
function TestModeBanner({ account }: { account: ShownAccount }): VNode {
  return (
    <aside class="banner" aria-label="Test mode">
      <p>
        <span class="tag warn">Test mode</span> Calls are free and return generated data.
      </p>
      <a class="button small" href={accountPath(liveAccountOf(account.id))}>
        Show live account
      </a>
    </aside>
  );
}

/** The address of the overview of an account, live or test. */
export function accountPath(accountId: number): string {
  return addressFor(accountId, '/account');
}

/** The address of a viewer's overview. */
export function homeOf(viewer: Viewer): string {
  return { visitor: '/', customer: '/account', operator: '/admin' }[kindOf(viewer)];
}

function kindOf(viewer: Viewer): 'visitor' | 'customer' | 'operator' {
  return viewer.kind === 'returning' ? 'customer' : viewer.kind;
}
