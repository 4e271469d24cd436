import type { VNode } from 'preact';

/** Answers up to this size are written into the page; of others the browser gets the bytes as they are. */
export const SHOWN_BYTES = 64 * 1024;

export function resultPath(jobId: string): string {
  return `/account/jobs/${jobId}/result`;
}

/** The answer of a job that is done: a picture, or JSON that a script writes out; without scripts a file to keep. */
export function AnswerViewer({ jobId, isPicture }: { jobId: string; isPicture: boolean }): VNode {
  const path = resultPath(jobId);
  return (
    <>
      {isPicture ? (
        <p>
          <img class="picture" src={path} alt="What this call has brought" />
        </p>
      ) : (
        <pre class="answer" data-answer={path} hidden>
          <code />
        </pre>
      )}
      <p>
        <a class="button" href={path} download>
          Download the answer
        </a>
      </p>
    </>
  );
}
