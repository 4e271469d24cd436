import type { ComponentChildren, VNode } from 'preact';
import { Choice } from './form.tsx';
import { Page } from './layout.tsx';
import { type Listed, MorePages } from './paging.tsx';

/** A list page: a filter, one page of the list, and links to the other pages. */
export function ListPage(props: {
  title: string;
  lead?: ComponentChildren;
  /** Link to the form that creates an item. */
  create?: readonly [href: string, text: string];
  styles?: readonly string[];
  /** Shown before the filter. */
  intro?: ComponentChildren;
  filter?: ComponentChildren;
  /** The element that scripts refresh, and how often; null: never. */
  refresh?: { id: string; seconds: number | null };
  /** Usually a table. */
  children: ComponentChildren;
  list: Pick<Listed<unknown>, 'query' | 'next'>;
  path: string;
  /** Name of the cursor in the address. */
  cursor?: string;
  /** Shown after the list. */
  note?: ComponentChildren;
}): VNode {
  const { title, lead, create, styles = ['account.css'], intro, filter, refresh, children } = props;
  const { list, path, cursor = 'cursor', note } = props;
  return (
    <Page title={title} styles={styles} wide>
      {create ? (
        <div class="row">
          <h1>{title}</h1>
          <a class="button primary push" href={create[0]}>
            {create[1]}
          </a>
        </div>
      ) : (
        <h1>{title}</h1>
      )}
      {lead && <p class="lead">{lead}</p>}
      {intro}
      {filter}
      {refresh ? (
        <div id={refresh.id} data-refresh={refresh.seconds ?? undefined}>
          {children}
        </div>
      ) : (
        children
      )}
      <MorePages list={list} path={path} cursor={cursor} />
      {note}
    </Page>
  );
}

/** A filter by state. */
export function StateChoice({ states }: { states: readonly string[] }): VNode {
  return (
    <Choice
      name="state"
      label="State"
      options={[['', 'All'], ...states.map((state) => [state, state] as const)]}
    />
  );
}
