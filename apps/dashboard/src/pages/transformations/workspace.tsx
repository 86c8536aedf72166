import type { TransformationView } from "@sluice/control-api";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { DraftConflict, useDraft } from "../../forms/edit-conflict.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { useLeaveGuard } from "../../routing/leave-guard.js";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/facts.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { Page } from "../../ui/layout/page.js";
import { Tabs } from "../../ui/layout/tabs.js";
import { visibleText } from "../../words/messages.js";
import { EditTab } from "./edit-tab.js";
import { EMPTY_START } from "./start-code.js";
import { isNewVersion, type TransformationDraft, useSave } from "./use-save.js";
import { UseTab } from "./use-tab.js";
import { useVersions, VersionsTab } from "./versions-tab.js";

const EMPTY: TransformationDraft = { ...EMPTY_START, language: "typescript" };

/** What the page edits. */
const EDITED = {
  draftOf: (transformation: TransformationView | undefined): TransformationDraft => transformation ?? EMPTY,
  partsOf: ({ name, code, language }: TransformationView) => ({
    "the name": name,
    "the code": [code, language],
  }),
};

/** One transformation: its code and a trial of it, its versions, and where it is used. A new one has only the first. */
export function Workspace({
  transformation,
  up,
}: {
  transformation?: TransformationView;
  up: { readonly href: string; readonly label: string };
}) {
  const form = useDraft(transformation, EDITED);
  const { draft, version, remote, reset } = form;
  const before = transformation ?? EMPTY;
  const isChanged = draft.name !== before.name || isNewVersion(draft, before);
  const leaving = useLeaveGuard(isChanged);
  const save = useSave(transformation, draft, (saved) => {
    leaving.release();
    reset(saved);
  });
  const saveIfChanged = () => {
    if ((isChanged || transformation === undefined) && draft.name.trim() !== "" && !save.isPending)
      save.mutate(version);
  };
  useSaveKey(saveIfChanged);
  const by = useAuthorOf(remote?.thing);
  const edit = (
    <EditTab transformation={transformation} draft={draft} saveError={save.error} onChange={form.change} />
  );
  return (
    <Page
      wide
      up={up}
      title={visibleText(transformation?.name ?? "New transformation")}
      badge={<State transformation={transformation} isChanged={isChanged} />}
      actions={
        <Button
          look="primary"
          busy={save.isPending}
          disabled={draft.name.trim() === "" || (transformation !== undefined && !isChanged)}
          title="Ctrl S"
          onClick={saveIfChanged}
        >
          {saveLabel(transformation, draft)}
        </Button>
      }
    >
      <DraftConflict save={save} remote={remote} by={by} reset={reset} />
      {transformation === undefined ? (
        edit
      ) : (
        <WorkspaceTabs transformation={transformation} edit={edit} onEdit={form.change} />
      )}
      <Confirm
        open={leaving.isAsked}
        title="Leave without saving?"
        action="Discard my changes"
        busy={false}
        error={null}
        onConfirm={leaving.leave}
        onClose={leaving.stay}
      >
        Your changes to this transformation are not saved.
      </Confirm>
    </Page>
  );
}

function WorkspaceTabs({
  transformation,
  edit,
  onEdit,
}: {
  transformation: TransformationView;
  edit: ReactNode;
  onEdit: (part: Partial<TransformationDraft>) => void;
}) {
  const [, navigate] = useLocation();
  const query = useAddressQuery();
  const { id, newest } = transformation;
  const open = (tab: string) => navigate(addresses.transformation(id, { tab }), { replace: true });
  return (
    <div>
      <Tabs
        label="About this transformation"
        prefix="about"
        selected={query.get("tab") ?? "edit"}
        onSelect={open}
        tabs={[
          { id: "edit", label: "Code", keeps: true, content: edit },
          {
            id: "versions",
            label: `Versions (${newest})`,
            content: (
              <VersionsTab
                transformation={transformation}
                onEdit={({ code, language }) => {
                  onEdit({ code, language });
                  open("edit");
                }}
              />
            ),
          },
          {
            id: "use",
            label: "Use and secrets",
            content: <UseTab transformation={transformation} />,
          },
        ]}
      />
    </div>
  );
}

function State({
  transformation,
  isChanged,
}: {
  transformation: TransformationView | undefined;
  isChanged: boolean;
}) {
  return (
    <>
      {transformation && <Badge tone="quiet">Version {transformation.current} in force</Badge>}
      {isChanged && <Badge tone="wait">Not saved</Badge>}
    </>
  );
}

function saveLabel(transformation: TransformationView | undefined, draft: TransformationDraft): string {
  if (transformation === undefined) return "Save";
  return isNewVersion(draft, transformation) ? `Save version ${transformation.newest + 1}` : "Save";
}

/** Ctrl S and ⌘ S, wherever the focus is. */
function useSaveKey(onSave: () => void): void {
  const latest = useRef(onSave);
  latest.current = onSave;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s") return;
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

/** Who saved the version in force of a transformation that someone else changed. */
function useAuthorOf(changed: TransformationView | undefined): string | undefined {
  const queries = useQueryClient();
  const versions = useVersions(changed?.id).data;
  const found = versions?.find(({ number }) => number === changed?.current);
  useEffect(() => {
    if (changed !== undefined)
      void queries.invalidateQueries({ queryKey: ["transformations", changed.id, "versions"] });
  }, [changed, queries]);
  return found?.createdBy && `${visibleText(found.createdBy, 60)} (version ${found.number})`;
}
