"""Skill folders on disk: discovery, reading, ids and atomic writes."""

from registry.skill_folder.ids import candidate_ids, id_of_name, qualified_id, qualified_ids, suggest_id
from registry.skill_folder.placing import placing_skill_folder, replacing_skill_folder
from registry.skill_folder.reading import (
    SkillFolder,
    UnreadableSkill,
    project_metadata,
    read_new_skill_folder,
    read_skill_folder,
)
from registry.skill_folder.tree import (
    FileEntry,
    file_digests,
    find_skill_file,
    find_skill_folders,
    fingerprint,
    has_digest,
    has_skill_file,
    list_files,
    open_file,
    tree_digest,
)
from registry.skill_folder.writing import (
    StagedSkill,
    remove_leftovers,
    remove_skill_folder,
    remove_staged,
    removing_skill_folder,
    restoring_skill_file,
    staging_place,
    update_skill_file,
    write_skill_folder,
)

__all__ = [
    "FileEntry",
    "SkillFolder",
    "StagedSkill",
    "UnreadableSkill",
    "candidate_ids",
    "file_digests",
    "find_skill_file",
    "find_skill_folders",
    "fingerprint",
    "has_digest",
    "has_skill_file",
    "id_of_name",
    "list_files",
    "open_file",
    "placing_skill_folder",
    "project_metadata",
    "qualified_id",
    "qualified_ids",
    "read_new_skill_folder",
    "read_skill_folder",
    "remove_leftovers",
    "remove_skill_folder",
    "remove_staged",
    "removing_skill_folder",
    "replacing_skill_folder",
    "restoring_skill_file",
    "staging_place",
    "suggest_id",
    "tree_digest",
    "update_skill_file",
    "write_skill_folder",
]
