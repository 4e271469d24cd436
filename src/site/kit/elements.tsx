import { type ComponentChildren, Fragment, type VNode } from 'preact';

type Fact = readonly [name: ComponentChildren, value: ComponentChildren];

/** A list of names with values. A fact that is false is omitted. */
export function Facts({ facts }: { facts: readonly (Fact | false | null | '' | undefined)[] }): VNode {
  return (
    <dl class="facts">
      {facts.map(
        (fact, i) =>
          fact && (
            <Fragment key={i}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | '';

export function Tag({ tone = '', children }: { tone?: Tone; children: ComponentChildren }): VNode {
  return <span class={tone ? `tag ${tone}` : 'tag'}>{children}</span>;
}

export function ToneTag({ of: [tone, text] }: { of: readonly [Tone, string] }): VNode {
  return <Tag tone={tone}>{text}</Tag>;
}

/** Tones of the states of jobs, batches, runs and deliveries. */
const TONES: Record<string, Tone> = {
  done: 'good',
  delivered: 'good',
  finished: 'good',
  failed: 'bad',
  expired: 'warn',
  skipped: 'warn',
  waiting: 'warn',
  queued: 'busy',
  running: 'busy',
  started: 'busy',
  pending: 'busy',
};

export function StateTag({ state }: { state: string }): VNode {
  return <Tag tone={TONES[state] ?? ''}>{state}</Tag>;
}

/** A secret with a button that copies it. @param id of its element, unique in the page. */
export function Secret({ id, text }: { id: string; text: string }): VNode {
  return (
    <p class="secret">
      <code id={id}>{text}</code>
      <button type="button" data-copy={id} hidden>
        Copy
      </button>
    </p>
  );
}

/** The answer that has a new secret. */
export function NewSecret(props: { id: string; text: string }): VNode {
  return (
    <div class="notice good" {...ANSWER}>
      <Secret {...props} />
      <p>
        <strong>Copy it now. It is shown only once.</strong>
      </p>
    </div>
  );
}

/** A part of a page with a frame. @param props.id makes its title the name of the part for screen readers. */
export function Card(props: { title?: string; id?: string; children: ComponentChildren }): VNode {
  const { title, id, children } = props;
  return (
    <section class="card" aria-labelledby={id}>
      {title && <h2 id={id}>{title}</h2>}
      {children}
    </section>
  );
}

/** Attributes of the part that answers a form: the page opens with the focus on it, so that the keyboard continues there. */
export const ANSWER = { tabIndex: -1, autofocus: true } as const;

/** A notice of one paragraph. With a role it answers a form. */
export function Notice(props: {
  tone: 'good' | 'warn' | 'bad';
  role?: 'alert' | 'status';
  children: ComponentChildren;
}): VNode {
  return (
    <div class={`notice ${props.tone}`} role={props.role} {...(props.role && ANSWER)}>
      <p>{props.children}</p>
    </div>
  );
}

interface LinkProps {
  to: string;
  download?: boolean;
  children: ComponentChildren;
}

/** Links that look like buttons. */
export const ButtonLink = (props: LinkProps): VNode => linkOf('button', props);
export const SmallLink = (props: LinkProps): VNode => linkOf('button small', props);
export const PrimaryLink = (props: LinkProps): VNode => linkOf('button primary', props);

function linkOf(style: string, { to, download, children }: LinkProps): VNode {
  return (
    <a class={style} href={to} download={download}>
      {children}
    </a>
  );
}

/** Links of which one is current: the page that is shown, or a choice on it. */
export function Segments(props: {
  name: string;
  current: 'page' | 'true';
  links: readonly (readonly [href: string, text: string, isCurrent: boolean])[];
  class?: string;
}): VNode {
  return (
    <nav class={`segments ${props.class ?? ''}`.trim()} aria-label={props.name}>
      {props.links.map(([href, text, isCurrent]) => (
        <a key={href} href={href} aria-current={isCurrent ? props.current : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
