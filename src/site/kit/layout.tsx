import type { ComponentChildren, VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { liveAccountOf } from '../../accounts/authentication.ts';
import { isAble, ROLE_TEXTS } from '../../accounts/members.ts';
import { Announcements } from './announcements.tsx';
import { assetUrl } from './assets.ts';
import { Navigation, Session } from './navigation.tsx';
import { CurrentPage } from './page-context.ts';
import { accountPath, homeOf, kindOf, type ShownAccount, VISITOR, type Viewer } from './viewer.ts';

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
  /** Id of the element to which the link at the start of the page leads. Default: all of the content. */
  start?: string;
  /** Uses the full width, for charts and tables. */
  wide?: boolean;
  /** Leaves out the navigation: the page asks for a decision, after which the browser returns to another site. */
  isDecision?: boolean;
  children: ComponentChildren;
}

/** The frame of every page: head, navigation and `main`. */
export function Page(props: PageProps): VNode {
  const page = useContext(CurrentPage);
  const { title, viewer = page.viewer, path = page.path } = props;
  const { heading = title, back, scripts = [], libraries = [], styles = [], wide = false } = props;
  const { start = 'main' } = props;
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
      <body class={`${kindOf(viewer)}${isDecision || kindOf(viewer) === 'visitor' ? '' : ' has-side'}`}>
        <a class="skip" href={`#${start}`}>
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
          <span>Souk, marketplace data{page.offeredBy.name && `, offered by ${page.offeredBy.name}`}</span>
          <nav aria-label="More">
            <a href="/pricing">Pricing</a>
            <a href="/docs">Documentation</a>
            <a href="/docs/api">API reference</a>
            <a href="/openapi.json">OpenAPI</a>
            <a href="/status">Status</a>
            {page.offeredBy.links.map(({ name, address }) => (
              <a key={name} href={address}>
                {name}
              </a>
            ))}
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
