import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

type Props = { title: string; isOpen: boolean; onClose: () => void; children: ComponentChildren };

/** A modal dialog of the browser: it keeps the focus inside, and returns it when it closes. */
export const Dialog = ({ title, isOpen, onClose, children }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      {isOpen && (
        <>
          <h2 id="dialog-title">{title}</h2>
          {children}
        </>
      )}
    </dialog>
  );
};
