import type { AudienceView, AudiencePreview as PreviewResult } from "@sluice/control-api";
import { type Condition, validateCondition } from "@sluice/protocol";
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { useApi, useAudiences } from "../../api/queries.js";
import { DraftConflict, useDraft } from "../../forms/edit-conflict.js";
import { EventSuggestions } from "../../forms/event-suggestions.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { TextField } from "../../ui/controls/field.js";
import { Card, Page } from "../../ui/layout/page.js";
import { count, counted, duration, percent } from "../../words/numbers.js";
import { AUDIENCES, usePreview, useSaveDefinition } from "../definitions/definition-kind.js";
import { LoadedDefinition } from "../definitions/definition-page.js";
import { idOf, KeyHint, PreviewBody, UserLink } from "../definitions/definition-parts.js";
import {
  conditionOf,
  draftOf,
  type GroupDraft,
  newEvent,
  newGroup,
  withNode,
} from "./conditions/condition-draft.js";
import { ConditionGroup } from "./conditions/condition-group.js";
import { SendingCard, type SendingDraft, sendingDraftOf, syncOf } from "./sending-card.js";

/** The members that the conditions would have now. Undefined: the conditions are not complete. */
function AudiencePreview({ condition }: { condition: Condition | undefined }) {
  const preview = usePreview("audience-preview", condition, (api, wanted, signal) =>
    api.audiences.preview(wanted, signal),
  );
  return (
    <Card title="Preview" note="All profiles, now">
      <div className="preview" aria-live="polite" aria-busy={preview.isFetching}>
        <PreviewBody
          isComplete={condition !== undefined}
          query={preview}
          incomplete="Complete the conditions to see the members."
        >
          {(result) => <Members result={result} />}
        </PreviewBody>
      </div>
    </Card>
  );
}

function Members({ result: { size, evaluated, tookMs, sample } }: { result: PreviewResult }) {
  return (
    <>
      <p className="preview-size number">{count(size)}</p>
      <p className="soft">
        {evaluated === 0
          ? "There are no profiles yet."
          : `${percent(size / evaluated)} of ${counted(evaluated, "profile")}, in ${duration(tookMs)}`}
      </p>
      {sample.length > 0 && (
        <>
          <h3 className="preview-title">Sample</h3>
          <ul className="preview-sample">
            {sample.map((member) => (
              <li key={idOf(member)} className="mono">
                <UserLink user={member} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

interface AudienceDraft {
  readonly name: string;
  readonly root: GroupDraft;
  readonly sending: SendingDraft;
}

/** What the form edits of an audience. */
const EDITED = {
  draftOf: (audience: AudienceView | undefined): AudienceDraft => ({
    name: audience?.name ?? "",
    root: audience === undefined ? newGroup([newEvent()]) : draftOf(audience.condition),
    sending: sendingDraftOf(audience),
  }),
  partsOf: ({ name, condition, destinationIds, sync, trackEvents, enabled }: AudienceView) => ({
    "the name": name,
    "the conditions": condition,
    "the destinations or the schedule": [destinationIds, sync, trackEvents],
    "the enabled state": enabled,
  }),
};

/** Creates an audience, or edits one. */
function AudienceForm({ audience }: { audience?: AudienceView }) {
  const [, navigate] = useLocation();
  const { draft, change, version, remote, reset } = useDraft(audience, EDITED);
  const { name, root, sending } = draft;
  const [wasTried, setTried] = useState(false);
  const condition = conditionOf(root);
  const issues = validateCondition(condition);
  const save = useSaveAudience(audience, draft, condition, (saved) => navigate(addresses.audience(saved.id)));
  const saveIfComplete = () => {
    setTried(true);
    if (issues.length === 0 && name.trim() !== "") save.mutate(version);
  };
  return (
    // Not a form element: Enter selects a suggested event, and would submit too early.
    <div className="audience-form">
      <div className="stack">
        <Card>
          <TextField
            label="Name"
            placeholder="VIP customers"
            required
            value={name}
            hint={<KeyHint existing={audience} name={name} />}
            error={wasTried && name.trim() === "" ? "Enter a name." : undefined}
            onChange={(event) => change({ name: event.target.value })}
          />
        </Card>
        <ConditionsCard
          root={root}
          audienceId={audience?.id}
          issues={wasTried ? issues : []}
          error={wasTried && root.children.length === 0 ? "Add a condition." : undefined}
          onChange={(next) => change({ root: next(root) })}
        />
        <SendingCard draft={sending} onChange={(part) => change({ sending: { ...sending, ...part } })} />
        <DraftConflict save={save} remote={remote} reset={reset} />
        <div className="row">
          <Button look="primary" busy={save.isPending} onClick={saveIfComplete}>
            {audience === undefined ? "Create audience" : "Save"}
          </Button>
          <ButtonLink
            look="quiet"
            href={audience === undefined ? addresses.audiences() : addresses.audience(audience.id)}
          >
            Cancel
          </ButtonLink>
        </div>
      </div>
      <div className="audience-preview">
        <AudiencePreview condition={issues.length === 0 ? condition : undefined} />
      </div>
    </div>
  );
}

function useSaveAudience(
  audience: AudienceView | undefined,
  { name, sending }: AudienceDraft,
  condition: Condition,
  onSaved: (saved: AudienceView) => void,
) {
  const api = useApi();
  const { destinationIds, trackEvents, enabled } = sending;
  const input = { name: name.trim(), condition, destinationIds, sync: syncOf(sending), trackEvents, enabled };
  return useSaveDefinition({
    kind: AUDIENCES,
    existing: audience,
    create: () => api.audiences.create(input),
    patch: (id, upon) => api.audiences.patch(id, { ...input, ...upon }),
    onSaved,
  });
}

function ConditionsCard({
  root,
  audienceId,
  issues,
  error,
  onChange,
}: {
  root: GroupDraft;
  /** Of the audience itself, which cannot be a condition of its own. */
  audienceId: string | undefined;
  issues: ReturnType<typeof validateCondition>;
  error: string | undefined;
  onChange: (next: (root: GroupDraft) => GroupDraft) => void;
}) {
  const eventListId = useId();
  const audiences = (useAudiences().data ?? []).filter((one) => one.id !== audienceId);
  return (
    <Card title="Conditions" note="Users leave when a time window ends, even without a new message">
      <ConditionGroup
        group={root}
        path="condition"
        depth={0}
        context={{
          audiences,
          eventListId,
          issues,
          onChange: (node, part) => onChange((latest) => withNode(latest, node, part)),
        }}
      />
      <EventSuggestions id={eventListId} />
      {error && <p className="field-error">{error}</p>}
    </Card>
  );
}

export function NewAudiencePage() {
  return (
    <Page
      title="New audience"
      lead="A group of users who meet your conditions. Every message updates it."
      up={AUDIENCES.up}
    >
      <AudienceForm />
    </Page>
  );
}

export function AudienceEditPage({ id }: { id: string }) {
  return (
    <LoadedDefinition kind={AUDIENCES} id={id}>
      {(audience) => (
        <Page title={`Edit ${audience.name}`} up={{ href: addresses.audience(id), label: audience.name }}>
          <AudienceForm audience={audience} />
        </Page>
      )}
    </LoadedDefinition>
  );
}
