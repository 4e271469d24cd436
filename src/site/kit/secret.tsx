import type { VNode } from 'preact';

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
