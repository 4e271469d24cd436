import type { VNode } from 'preact';

/** Answers up to this size are rendered into the page. The browser fetches larger ones. */
export const SHOWN_BYTES = 64 * 1024;

export function resultPath(jobId: string): string {
  return `/account/jobs/${jobId}/result`;
}

/** The answer of a finished job: a picture, or JSON that a script formats. Without scripts only the download is shown. */
export function AnswerViewer({ jobId, isPicture }: { jobId: string; isPicture: boolean }): VNode {
  const path = resultPath(jobId);
  return (
    <>
      {isPicture ? (
        <p>
          <img class="picture" src={path} alt="The answer of this call" />
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
