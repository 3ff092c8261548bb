import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

/** A tab and its panel. */
export type Tab = { name: string; content: ComponentChildren };

/** Tabs with the keyboard operation of the ARIA Authoring Practices: arrow keys, Home and End. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => {
  const [name, setName] = useState(tabs[0]?.name);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const selected = Math.max(
    tabs.findIndex((tab) => tab.name === name),
    0,
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const targets: Record<string, number> = {
      ArrowLeft: selected - 1,
      ArrowRight: selected + 1,
      Home: 0,
      End: tabs.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const index = (target + tabs.length) % tabs.length;
    setName(tabs[index]?.name);
    list.current?.querySelectorAll('button')[index]?.focus();
  };
  return (
    <div class="grid">
      <div class="bar" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <button
            type="button"
            role="tab"
            key={tab.name}
            id={`${id}-${index}`}
            aria-selected={index === selected}
            aria-controls={`${id}-panel`}
            tabIndex={index === selected ? 0 : -1}
            onClick={() => setName(tab.name)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel without controls must be reachable by keyboard. */}
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} tabIndex={0}>
        {tabs[selected]?.content}
      </div>
    </div>
  );
};
