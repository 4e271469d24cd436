import type { VNode } from 'preact';
import { stringifyJson } from '../../platform/json.ts';
import { CallExamples, type ExampleOf } from '../kit/call-examples.tsx';
import { SmallLink } from '../kit/elements.tsx';
import { addressOf } from '../kit/list-page.tsx';

/** The same call in other programs. @param props.name of the call on its page. */
export function InOtherPrograms({ name, ...example }: ExampleOf & { name: string }): VNode {
  return (
    <details>
      <summary>Show as curl, TypeScript and Python</summary>
      <CallExamples id={name} {...example} />
    </details>
  );
}

/** The link to the form of a new schedule that repeats a call. */
export function RepeatLink(props: {
  title: string;
  operation: string;
  parameters: Readonly<Record<string, unknown>>;
}): VNode {
  const { title: name, operation, parameters } = props;
  const items = stringifyJson(parameters);
  const fields = { name, operation, layout: 'ndjson', items, 'p.decode': 'false' };
  return <SmallLink to={addressOf('/account/schedules/new', fields)}>Repeat on a schedule</SmallLink>;
}
