import type { VNode } from 'preact';
import type { QuoteView } from '../../../api/quote-view.ts';
import { Facts } from '../../kit/facts.tsx';
import { counted } from '../../kit/words.tsx';
import { AnswerViewer } from '../answer-viewer.tsx';
import type { Answered, Refused } from './try-call.ts';

/** The price of a call, and whether it would be accepted. */
export function Price({ quote }: { quote: QuoteView }): VNode {
  const { units, admitted, rejectMessage, rejectReason, deduplicated } = quote;
  return (
    <output class={`notice ${admitted ? 'good' : 'bad'}`}>
      <p>
        <strong>{`At most ${counted(units, 'unit')}.`}</strong>{' '}
        {deduplicated && 'You made this call within the last five minutes, so it is free. '}
        {admitted
          ? 'You can make this call now. It has not been made yet.'
          : `This call cannot be made now: ${rejectMessage} `}
        {!admitted && <code>{rejectReason}</code>}
      </p>
    </output>
  );
}

/** The answer or the error of a call. */
export function Outcome({ outcome }: { outcome: Answered | Refused }): VNode {
  if (outcome.kind === 'refused') {
    const { status, header, envelope } = outcome;
    return (
      <section class="card" aria-labelledby="answer">
        <h2 id="answer">Answer</h2>
        <div class="notice bad" role="alert">
          <p>
            <strong>{status}</strong> <code>{envelope.code}</code> {envelope.msg}
          </p>
        </div>
        <Headers header={header} />
        <Written text={JSON.stringify(envelope, null, 2)} />
      </section>
    );
  }
  const { status, header, text, jobId, isPicture } = outcome;
  return (
    <section class="card" aria-labelledby="answer">
      <h2 id="answer">Answer</h2>
      <p>
        <span class="tag good">{status}</span> {charged(header)}
      </p>
      <Headers header={header} />
      {text !== null && <Written text={text} />}
      {text === null && jobId !== null && <AnswerViewer jobId={jobId} isPicture={isPicture} />}
    </section>
  );
}

function charged(header: Answered['header']): string {
  const units = Number(header('x-units-consumed') ?? 0);
  if (header('x-deduplicated') === 'true')
    return 'Nothing was charged because you made the same call within the last five minutes.';
  if (units === 0) return 'Nothing was charged.';
  return `${counted(units, 'unit')} ${units === 1 ? 'was' : 'were'} charged.`;
}

/** Headers that are shown, in this order. */
const SHOWN_HEADERS = [
  'x-units-consumed',
  'x-cache',
  'x-deduplicated',
  'x-response-time',
  'x-job-id',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
];

function Headers({ header }: Pick<Answered, 'header'>): VNode {
  const shown = SHOWN_HEADERS.map((name) => [<code>{name}</code>, header(name)] as const);
  return (
    <details>
      <summary>Headers</summary>
      <Facts facts={shown.filter(([, value]) => value !== undefined)} />
    </details>
  );
}

function Written({ text }: { text: string }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard.
    <pre class="answer" tabIndex={0}>
      <code>{text}</code>
    </pre>
  );
}
