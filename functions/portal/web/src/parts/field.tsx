// Fields of forms, with their hint and their failure.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

import type { Problem } from '../api';
import { t } from '../words';
import { fault, place } from './problem';
import { localOf, momentOf } from './time';

/** The failure of this field, or of an item of it. */
export function failureOf(problem: Problem | null, name: string): string | null {
  const detail = problem?.detail.find((one) => place(one) === name || place(one).startsWith(`${name}.`));
  return detail ? fault(detail) : null;
}

interface Common {
  label: string;
  name: string;
  hint?: string | undefined;
  problem?: Problem | null;
  required?: boolean;
}

interface TextProps extends Common {
  value: string;
  set: (value: string) => void;
  type?: 'text' | 'password' | 'url' | 'number' | 'search';
  max?: number;
}

export function TextField({ label, name, hint, problem = null, value, set, type = 'text', required = false, max }: TextProps) {
  const id = useId();
  const failure = failureOf(problem, name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        type={type as 'text'}
        value={value}
        required={required}
        maxLength={max}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={failure !== null}
        aria-describedby={hint || failure ? `${id}-more` : undefined}
        onInput={(event) => set(event.currentTarget.value)}
      />
      <More id={`${id}-more`} hint={hint} failure={failure} />
    </div>
  );
}

/** A list, one item a line. */
export function LinesField({ label, name, hint, problem = null, value, set, required = false }: Common & { value: string; set: (value: string) => void }) {
  const id = useId();
  const failure = failureOf(problem, name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        rows={4}
        value={value}
        required={required}
        spellcheck={false}
        aria-invalid={failure !== null}
        aria-describedby={`${id}-more`}
        onInput={(event) => set(event.currentTarget.value)}
      />
      <More id={`${id}-more`} hint={hint ? `${hint} ${t.parts.perLine}` : t.parts.perLine} failure={failure} />
    </div>
  );
}

/** The items of a list that stands one item a line. */
export const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter(Boolean);

export function Check({ label, value, set }: { label: string; value: boolean; set: (value: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => set(event.currentTarget.checked)} /> {label}
    </label>
  );
}

function More({ id, hint, failure }: { id: string; hint?: string | undefined; failure: string | null }) {
  if (!hint && !failure) return null;
  return (
    <p id={id} class={failure ? 'failure small' : 'soft small'}>
      {failure ?? hint}
    </p>
  );
}

interface ChoiceProps extends Common {
  value: string;
  set: (value: string) => void;
  choices: [string, string][];
  disabled?: boolean;
}

export function Choice({ label, name, hint, problem = null, value, set, choices, disabled = false }: ChoiceProps) {
  const id = useId();
  const failure = failureOf(problem, name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={value} disabled={disabled} onChange={(event) => set(event.currentTarget.value)} aria-describedby={hint || failure ? `${id}-more` : undefined}>
        {choices.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <More id={`${id}-more`} hint={hint} failure={failure} />
    </div>
  );
}

/** A moment. It is empty, or in the form of the API. */
export function Moment({ label, name, hint, problem = null, value, set }: Common & { value: string; set: (value: string) => void }) {
  const id = useId();
  const failure = failureOf(problem, name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        type="datetime-local"
        value={value && localOf(value)}
        aria-invalid={failure !== null}
        aria-describedby={hint || failure ? `${id}-more` : undefined}
        onChange={(event) => set(event.currentTarget.value && momentOf(event.currentTarget.value))}
      />
      <More id={`${id}-more`} hint={hint} failure={failure} />
    </div>
  );
}

interface ChecksProps extends Common {
  value: string[];
  set: (value: string[]) => void;
  choices: [string, string][];
}

export function Checks({ label, name, hint, problem = null, value, set, choices }: ChecksProps) {
  const failure = failureOf(problem, name);
  const id = useId();
  const toggle = (one: string, on: boolean) => set(on ? [...value, one] : value.filter((other) => other !== one));
  return (
    <fieldset aria-describedby={hint || failure ? `${id}-more` : undefined}>
      <legend>{label}</legend>
      <More id={`${id}-more`} hint={hint} failure={failure} />
      <div class="checks">
        {choices.map(([one, said]) => (
          <label key={one} class="check">
            <input type="checkbox" checked={value.includes(one)} onChange={(event) => toggle(one, event.currentTarget.checked)} /> {said}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface FormProps {
  submit: () => void;
  act: string;
  busy: boolean;
  cancel?: () => void;
  children: ComponentChildren;
}

export function Form({ submit, act, busy, cancel, children }: FormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) submit();
      }}
    >
      {children}
      <div class="buttons">
        <button type="submit" class="main" disabled={busy}>
          {act}
        </button>
        {cancel && (
          <button type="button" onClick={cancel}>
            {t.parts.cancel}
          </button>
        )}
      </div>
    </form>
  );
}
