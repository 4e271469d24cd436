import type { VNode } from 'preact';

/** Something to keep or to send on, with a button that copies it. @param id of its element, once in a page. */
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
