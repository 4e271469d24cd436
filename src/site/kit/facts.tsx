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
