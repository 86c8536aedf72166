import type { TransformationPatch, TransformationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { useApi, useDestinations, useSources, useTransformations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Failure, useNotify } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { Card, DeleteCard } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";

/** What it is attached to, its secrets, and the way to delete it. */
export function UseTab({ transformation }: { transformation: TransformationView }) {
  const api = useApi();
  const { id, name } = transformation;
  return (
    <div className="sections">
      <div className="two-columns">
        <AttachedCard transformation={transformation} />
        <SecretsCard transformation={transformation} />
      </div>
      <DeleteCard
        text="Deletes the transformation with all versions and secrets. Detach it from everything first."
        name={name}
        action="Delete transformation"
        remove={() => api.transformations.delete(id)}
        resource="transformations"
        then={addresses.transformations()}
      />
    </div>
  );
}

interface Place {
  readonly kind: "destinations" | "sources";
  readonly id: string;
  readonly name: string;
  readonly transformationId?: string;
}

function usePlaces(): readonly Place[] {
  const destinations = useDestinations().data ?? [];
  const sources = useSources().data ?? [];
  return [
    ...destinations.map((one) => ({ ...one, kind: "destinations" as const })),
    ...sources.map((one) => ({ ...one, kind: "sources" as const })),
  ];
}

/** The destinations and sources that it is attached to; attaches it to others. */
function AttachedCard({ transformation: { id } }: { transformation: TransformationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const places = usePlaces();
  const [chosen, setChosen] = useState("");
  const attach = useMutation({
    mutationFn: ({ place, to }: { place: Place; to: string | null }): Promise<unknown> =>
      place.kind === "sources"
        ? api.sources.patch(place.id, { transformationId: to })
        : api.destinations.patch(place.id, { transformationId: to }),
    onSuccess: () => setChosen(""),
    onSettled: async (_done, _error, { place }) => {
      for (const queryKey of [[place.kind], ["transformations"]])
        await queries.invalidateQueries({ queryKey });
    },
  });
  const attached = places.filter((one) => one.transformationId === id);
  const others = places.filter((one) => one.transformationId !== id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const place = others.find((one) => keyOf(one) === chosen);
    if (place !== undefined) attach.mutate({ place, to: id });
  };
  return (
    <Card title="Attached to" note="Applies to what is delivered from now on, also to retries">
      <div className="stack">
        {attached.length === 0 && <p className="soft">Nothing. No message goes through it.</p>}
        <ul className="lines" hidden={attached.length === 0}>
          {attached.map((place) => (
            <li key={keyOf(place)}>
              <Icon name={place.kind} />
              <Link
                className="grow"
                href={
                  place.kind === "sources"
                    ? addresses.source(place.id)
                    : addresses.destination(place.id, { tab: "settings" })
                }
              >
                {visibleText(place.name)}
              </Link>
              {place.kind === "sources" && <span className="small soft">all its destinations</span>}
              <Button size="small" look="quiet" onClick={() => attach.mutate({ place, to: null })}>
                Detach<span className="visually-hidden"> {place.name}</span>
              </Button>
            </li>
          ))}
        </ul>
        <form className="row inline-form" onSubmit={submit}>
          <SelectField
            label="Destination or source"
            hideLabel
            options={[["", "Choose one"], ...useChoices(others)]}
            value={chosen}
            onChange={({ target }) => setChosen(target.value)}
          />
          <Button type="submit" busy={attach.isPending} disabled={chosen === ""}>
            Attach
          </Button>
        </form>
        {attach.isError && <Failure error={attach.error} />}
      </div>
    </Card>
  );
}

const keyOf = ({ kind, id }: Place) => `${kind}:${id}`;

/** One place has one transformation: attaching another replaces it. */
function useChoices(places: readonly Place[]) {
  const transformations = useTransformations().data ?? [];
  return places.map((place) => {
    const present = transformations.find(({ id }) => id === place.transformationId);
    const name = `${place.kind === "sources" ? "Source" : "Destination"} ${visibleText(place.name, 60)}`;
    const words = present === undefined ? name : `${name} (replaces ${visibleText(present.name, 40)})`;
    return [keyOf(place), words] as const;
  });
}

const SECRET_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

/** The names of its secrets. Their values can be set, but are never shown. */
function SecretsCard({ transformation: { id, secretNames } }: { transformation: TransformationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [removed, setRemoved] = useState<string | undefined>();
  const change = useMutation({
    mutationFn: (secrets: NonNullable<TransformationPatch["secrets"]>) =>
      api.transformations.patch(id, { secrets }),
    onSuccess: (saved) => {
      queries.setQueryData(["transformations", id], saved);
      setName("");
      setValue("");
      setRemoved(undefined);
      notify("Saved");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["transformations"] }),
  });
  const isWrong = name !== "" && !SECRET_NAME.test(name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name !== "" && !isWrong && value !== "") change.mutate({ [name]: value });
  };
  return (
    <Card title="Secrets" note="The function gets them as secrets.NAME. They are stored sealed">
      <div className="stack">
        {secretNames.length === 0 && <p className="soft">None.</p>}
        <ul className="lines" hidden={secretNames.length === 0}>
          {secretNames.map((one) => (
            <li key={one}>
              <Icon name="key" />
              <code className="grow">{one}</code>
              <Button size="small" onClick={() => setName(one)}>
                Replace<span className="visually-hidden"> {one}</span>
              </Button>
              <Button size="small" look="quiet" onClick={() => setRemoved(one)}>
                Remove<span className="visually-hidden"> {one}</span>
              </Button>
            </li>
          ))}
        </ul>
        <form className="stack" onSubmit={submit} noValidate>
          <div className="field-grid">
            <TextField
              label="Name"
              className="mono"
              placeholder="SALT"
              maxLength={64}
              error={isWrong ? "Capital letters, digits and _, a letter first." : undefined}
              value={name}
              onChange={({ target }) => setName(target.value.toUpperCase())}
            />
            <TextField
              label="Value"
              type="password"
              autoComplete="new-password"
              maxLength={4_096}
              value={value}
              onChange={({ target }) => setValue(target.value)}
            />
          </div>
          <div>
            <Button
              type="submit"
              busy={change.isPending && removed === undefined}
              disabled={name === "" || isWrong || value === ""}
            >
              {secretNames.includes(name) ? "Replace secret" : "Set secret"}
            </Button>
          </div>
        </form>
        {change.isError && removed === undefined && <Failure error={change.error} />}
      </div>
      <Confirm
        open={removed !== undefined}
        title={`Remove ${removed}?`}
        action="Remove secret"
        busy={change.isPending}
        error={change.error}
        onConfirm={() => removed !== undefined && change.mutate({ [removed]: null })}
        onClose={() => setRemoved(undefined)}
      >
        Code that uses it gets undefined from then on. The value cannot be shown again.
      </Confirm>
    </Card>
  );
}
